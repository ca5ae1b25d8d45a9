// A process of its own for the tests: a user of the stand-in whose knobs come from the environment.
//   standin_probe has CLASS…            prints "yes" or "no" for each
//   standin_probe type CLASS SELECTOR   prints the type encoding, or "none" (instance method, then class
//   method) standin_probe run WIDTH             compiles if needed, loads, evaluates, unloads; prints what it
//   did standin_probe hold FIRST COUNT      loads COUNT programs, prints "held", waits for the end of its
//   input
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "fixture.h"

namespace standin {
namespace {

int has(int count, char** names) {
  for (int i = 0; i < count; ++i) std::puts(type(names[i]) != nullptr ? "yes" : "no");
  return 0;
}

int encoding(const char* name, const char* selector) {
  struct objc_method* method = class_getInstanceMethod(objc_getClass(name), sel_registerName(selector));
  if (method == nullptr) method = class_getClassMethod(objc_getClass(name), sel_registerName(selector));
  std::puts(method != nullptr ? method_getTypeEncoding(method) : "none");
  return 0;
}

bool compile_and_load(InMemory* model) {
  if (!model->is_cached()) {
    model->stage();
    if (!model->compile()) {
      std::printf("compile: %s\n", model->error.all().c_str());
      return false;
    }
    std::puts("compiled");
  }
  if (!model->load()) {
    std::printf("load: %s\n", model->error.all().c_str());
    return false;
  }
  return true;
}

int run(uint64_t width) {
  InMemory model(doubling(1, width));
  if (!compile_and_load(&model)) return 1;
  const Surface in(1u << 16), out(1u << 16);
  id request = request_of({in.object()}, {0}, {out.object()}, {0});
  if (!model.evaluate(request)) {
    std::printf("evaluate: %s\n", model.error.all().c_str());
    return 1;
  }
  std::printf("y = %g\n", static_cast<double>(anelane::half_to_float(out.row(0, 64)[0])));
  msg<void>(request, "release");
  return model.unload() ? 0 : 1;
}

int hold(int first, int wanted) {
  std::vector<std::unique_ptr<InMemory>> models;
  for (int i = 0; i < wanted; ++i) {
    models.push_back(std::make_unique<InMemory>(doubling(static_cast<float>(first + i))));
    if (!compile_and_load(models.back().get())) return 1;
  }
  std::puts("held");
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  for (const auto& model : models)
    if (!model->unload()) return 1;
  return 0;
}

}  // namespace
}  // namespace standin

int main(int argc, char** argv) {
  using namespace standin;
  if (argc >= 2 && std::strcmp(argv[1], "has") == 0) return has(argc - 2, argv + 2);
  if (argc == 4 && std::strcmp(argv[1], "type") == 0) return encoding(argv[2], argv[3]);
  if (argc == 3 && std::strcmp(argv[1], "run") == 0) return run(std::strtoull(argv[2], nullptr, 10));
  if (argc == 4 && std::strcmp(argv[1], "hold") == 0) return hold(std::atoi(argv[2]), std::atoi(argv[3]));
  return 2;
}
