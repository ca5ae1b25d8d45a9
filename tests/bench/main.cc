// anelane_bench [--quick] MODEL_DIR: JSON lines on stdout, one for each benchmark. Its lanes and caches lie
// in a temporary folder, so it measures neither somebody's warm cache nor somebody's work.
#include <cstdio>
#include <cstring>

#include "bench.h"
#include "support/tiny_checkpoint.h"

int main(int argc, char** argv) {
  bench::Settings settings;
  bool wrong = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--quick") == 0)
      settings.quick = true;
    else if (argv[i][0] != '-' && settings.model_dir.empty())
      settings.model_dir = argv[i];
    else
      wrong = true;
  }
  if (wrong || settings.model_dir.empty()) {
    std::fputs("usage: anelane_bench [--quick] MODEL_DIR\n", stderr);
    return 2;
  }
  const anelane::TempFolder folder;
  settings.work_dir = folder.path();
  bench::print("build", {{"version", std::string("\"") + anelane_version() + "\""},
                         {"quick", settings.quick ? "true" : "false"}});
  bench::lease_benchmarks(settings);
  bench::cancel_benchmarks(settings);
  bench::run_benchmarks(settings);
  bench::close_benchmarks(settings);
  bench::embed_benchmarks(settings);
  return 0;
}
