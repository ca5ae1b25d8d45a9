// A model served by an engine in this process: what a worker does, without the worker.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "on_standin.h"
#include "worker/served_model.h"

namespace anelane {

class Served {
 public:
  // `temp_space_min`: as LoaderOptions.
  Served(std::unique_ptr<Engine> engine, const std::string& folder, uint64_t temp_space_min = 0);
  worker::LoadedBody report() { return model_->report(); }
  Result<worker::AdmittedBody> admit(uint32_t shape) { return model_->admit(shape, {}); }
  void evict(uint32_t shape) { model_->evict(shape); }
  // The vectors of these sequences at a resident shape.
  std::vector<float> embed(uint32_t shape, const std::vector<std::vector<int32_t>>& sequences);
  // The hidden state after all layers, from ports to ports, for a pseudo-random input.
  std::vector<uint8_t> run(uint32_t shape);
  Engine& engine() { return *engine_; }
  const ModelSummary& summary() const { return opened_->summary(); }

 private:
  std::unique_ptr<Engine> engine_;
  std::shared_ptr<const Model> opened_;
  worker::Activity activity_;
  std::unique_ptr<worker::ServedModel> model_;
  std::shared_ptr<worker::Arena> arena_;
};

}  // namespace anelane
