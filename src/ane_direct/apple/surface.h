// An IOSurface as engine memory: the CPU and the engine see the same bytes.
#pragma once
#include <memory>

#include "ane_direct/apple/framework.h"
#include "ane_direct/engine.h"

namespace anelane::apple {

class Surface final : public EngineMemory {
 public:
  // At least `bytes`, zeroed.
  static Result<std::unique_ptr<Surface>> create(std::shared_ptr<const Framework> framework, uint64_t bytes);
  ~Surface() override;
  Surface(const Surface&) = delete;
  Surface& operator=(const Surface&) = delete;

  Buffer buffer() override { return {base_, bytes_, this}; }
  Status begin_access(Access access) override;
  Status end_access(Access access) override;

  // For requests: the framework's object around the surface.
  Id object() const { return object_.get(); }
  // Never given twice in a process: a request is remembered by it.
  uint64_t serial() const { return serial_; }
  const Framework* framework() const { return framework_.get(); }

 private:
  Surface() = default;
  std::shared_ptr<const Framework> framework_;
  Id surface_ = nullptr;
  Ref object_;
  void* base_ = nullptr;
  uint64_t bytes_ = 0;
  uint64_t serial_ = 0;
};

}  // namespace anelane::apple
