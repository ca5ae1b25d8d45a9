// One model on one engine: its resident shapes, and what is asked of them. Belongs to the engine thread.
#pragma once
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "ane_direct/engine.h"
#include "base/fp16.h"
#include "base/status.h"
#include "cache/program_loader.h"
#include "models/model.h"
#include "worker/activity.h"
#include "worker/arena.h"
#include "worker/protocol.h"

namespace anelane::worker {

// Memory of one engine port, from the engine: layers read and write it where it lies.
class PortBuffer {
 public:
  PortBuffer() = default;
  static Result<PortBuffer> make(Engine& engine, uint64_t bytes);
  Buffer buffer() const { return memory_ == nullptr ? Buffer() : memory_->buffer(); }
  Half* halves() const { return static_cast<Half*>(buffer().data); }
  EngineMemory* memory() const { return memory_.get(); }

 private:
  std::unique_ptr<EngineMemory> memory_;
};

// The loaded layers of one shape and the buffers between them.
struct ResidentShape {
  std::vector<std::unique_ptr<LoadedProgram>> layers;
  PortBuffer first, second;  // activations take turns in them
  PortBuffer mask;
  std::vector<PortBuffer> between;  // of a program: the buffers of its wiring
};

// The same for a program model's wiring (program_chain.cc): the loaded programs must have the ports that
// their texts declare, in the layout that the library gave to callers.
Status prepare_wired(Engine& engine, uint32_t shape, const ProgramWiring& wiring, ResidentShape* room);
// Every layer once, front to back. `in` and `out` are the model's own ports, in their order.
Status run_wired(const ResidentShape& room, const ProgramWiring& wiring, std::span<const Buffer> in,
                 std::span<const Buffer> out);

class ServedModel {
 public:
  // All three must outlive it. A stop request in `activity` ends long work early, with CANCELLED. At most
  // `shapes_max` shapes are resident at once; 0: as many as are asked for.
  ServedModel(Engine& engine, std::shared_ptr<const Model> model, LoaderOptions loader, Activity& activity,
              uint32_t shapes_max = 0)
      : engine_(engine),
        model_(std::move(model)),
        loader_(loader),
        activity_(activity),
        shapes_max_(shapes_max) {}

  // What the engine's compiler thinks of the texts of a program model, before anything is compiled
  // (Engine::check). A checkpoint's programs are our own and need no check.
  Status check_programs() const;
  // What LOADED says; asks the engine which rungs it holds compiled (L8.3).
  LoadedBody report();
  // Loads every layer, in order, compiling what the engine does not hold (L8.2). All or nothing.
  Result<AdmittedBody> admit(uint32_t shape, const std::function<void(const ProgressBody&)>& progress);
  // Unloads; a shape that is not resident is gone already.
  void evict(uint32_t shape) { resident_.erase(shape); }
  Result<EmbeddedBody> embed(const EmbedBody& body, const Arena& arena);
  Status run(const RunBody& body, const Arena& arena);

  bool is_resident(uint32_t shape) const { return resident_.count(shape) != 0; }

 private:
  Status load_layers(uint32_t shape, ResidentShape* room, AdmittedBody* counts,
                     const std::function<void(const ProgressBody&)>& progress);
  Result<ResidentShape*> find_resident(uint32_t shape);
  Result<std::vector<int32_t>> checked_ids(const EmbedBody& body, const Arena& arena) const;
  Status embed_one(ResidentShape* room, uint32_t shape, std::span<const int32_t> ids, std::span<float> out);

  Engine& engine_;
  std::shared_ptr<const Model> model_;
  LoaderOptions loader_;
  Activity& activity_;
  const uint32_t shapes_max_;
  std::map<uint32_t, ResidentShape> resident_;
};

}  // namespace anelane::worker
