// A program on Apple's engine.
#pragma once
#include <deque>
#include <memory>
#include <vector>

#include "ane_direct/apple/route.h"
#include "ane_direct/apple/surface.h"
#include "ane_direct/engine.h"

namespace anelane::apple {

class AppleProgram final : public LoadedProgram {
 public:
  AppleProgram(std::shared_ptr<const Framework> framework, std::unique_ptr<LiveModel> model)
      : framework_(std::move(framework)), model_(std::move(model)) {}
  ~AppleProgram() override;
  std::span<const Port> inputs() const override { return model_->ports().inputs; }
  std::span<const Port> outputs() const override { return model_->ports().outputs; }
  Status run(std::span<const Buffer> in, std::span<const Buffer> out) override;

 private:
  // A request object for one set of surfaces: inputs, then outputs.
  struct Request {
    std::vector<uint64_t> surfaces;
    Ref object;
  };
  Result<Surface*> surface_for(const Port& port, const Buffer& buffer, std::unique_ptr<Surface>* own);
  Result<Id> request_for(const std::vector<Surface*>& in, const std::vector<Surface*>& out);

  std::shared_ptr<const Framework> framework_;
  std::unique_ptr<LiveModel> model_;
  std::vector<std::unique_ptr<Surface>> own_in_, own_out_;  // for buffers that are not the engine's
  std::deque<Request> requests_;                            // most recently used first
};

}  // namespace anelane::apple
