#include "worker/engine_choice.h"

#include "ane_direct/soft/soft_engine.h"

namespace anelane::worker {
namespace {

Result<std::unique_ptr<Engine>> make_soft(const InitBody& init) {
  SoftEngineOptions options;
  options.cache_dir = init.cache_dir;
  options.temp_dir = init.temp_dir;
  options.numerics = init.numerics;
  options.threads = init.soft_threads;
  options.signing_identifier = init.signing_identifier.empty() ? "anelane-worker" : init.signing_identifier;
  return make_soft_engine(options);
}

}  // namespace

Result<std::unique_ptr<Engine>> choose_engine(const InitBody& init) {
  if (init.engine == "soft" || init.engine == "auto") return make_soft(init);
  if (init.engine == "apple")
    return error(Code::kEngineUnavailable,
                 "engine \"apple\" needs Apple's Neural Engine, which this build cannot reach; ask for "
                 "\"soft\" or \"auto\"");
  return error(Code::kInvalidArgument, "engine \"" + init.engine + "\" is not one of soft, apple, auto");
}

}  // namespace anelane::worker
