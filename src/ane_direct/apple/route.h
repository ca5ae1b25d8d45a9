// One of the two ways to the engine's service: through the in-memory wrapper (_ANEInMemoryModel), or as a
// client over files of our own (_ANEClient and _ANEModel). An engine has one; both answer alike.
#pragma once
#include <memory>
#include <string>

#include "ane_direct/apple/engine_error.h"
#include "ane_direct/apple/framework.h"
#include "ane_direct/apple/model_attributes.h"
#include "ane_direct/apple/staging.h"
#include "ane_direct/program.h"

namespace anelane::apple {

// A program that occupies the engine. Destroying it unloads.
class LiveModel {
 public:
  virtual ~LiveModel() = default;
  // `request` is an _ANERequest.
  virtual Status evaluate(Id request) = 0;
  const ProgramPorts& ports() const { return ports_; }

 protected:
  ProgramPorts ports_;
};

// How far a compile came that did not succeed.
enum class CompileEnd : uint8_t {
  kBeforeService,    // it did not reach the compiler
  kStagingRefused,   // the system refused its files, which the other route may not meet
  kFailedInService,  // the compiler has failed, and may have to start again
};

class Route {
 public:
  virtual ~Route() = default;
  virtual const char* name() const = 0;  // as options spell it
  virtual bool probe(const std::string& id, const Program* program) = 0;
  // *end is set when it fails.
  virtual Status compile(const std::string& id, const Program& program, CompileEnd* end) = 0;
  // IO when the service holds nothing usable.
  virtual Result<std::unique_ptr<LiveModel>> load(const std::string& id, const Program* program) = 0;
};

std::unique_ptr<Route> make_in_memory_route(std::shared_ptr<const Framework> framework, StagingArea staging);
// `sources`: the folder that keeps the sources of compiled programs.
std::unique_ptr<Route> make_client_route(std::shared_ptr<const Framework> framework, std::string sources);

inline constexpr unsigned kQos = 21;  // what everybody passes; the same to every call

}  // namespace anelane::apple
