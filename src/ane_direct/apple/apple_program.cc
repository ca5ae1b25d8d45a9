// run() binds surfaces by symbol index. Buffers from the engine's allocate() are bound as they lie: in a
// chain of layers nothing is copied. Others are copied through surfaces of the program's own, made when first
// needed. A surface is never input and output of one call: the engine reads and writes at once.
//
// Making a request costs about as much as running one, so the last few are kept, each with the serials of its
// surfaces. A request holds its surfaces, so a kept one can never point at memory that is gone; the oldest
// goes when another is made. Released before the unload: requests, own surfaces, then the program.
#include "ane_direct/apple/apple_program.h"

#include <cstring>

#include "ane_direct/buffer_check.h"
#include "base/limits.h"

namespace anelane::apple {
namespace {

bool copied(const Surface* surface, const std::unique_ptr<Surface>& own) {
  return surface == own.get();
}

}  // namespace

AppleProgram::~AppleProgram() {
  requests_.clear();
  own_in_.clear();
  own_out_.clear();
}

Result<Surface*> AppleProgram::surface_for(const Port& port, const Buffer& buffer,
                                           std::unique_ptr<Surface>* own) {
  // Only a surface of this very framework can be bound; memory of another engine is foreign.
  auto* surface = dynamic_cast<Surface*>(buffer.memory);
  if (surface != nullptr && surface->framework() == framework_.get() && buffer.data == surface->buffer().data)
    return surface;
  if (!*own) {
    ANELANE_ASSIGN(*own, Surface::create(framework_, port.bytes));
  }
  return own->get();
}

Result<Id> AppleProgram::request_for(const std::vector<Surface*>& in, const std::vector<Surface*>& out) {
  std::vector<uint64_t> key;
  for (const auto* side : {&in, &out})
    for (const Surface* surface : *side) key.push_back(surface->serial());
  for (auto it = requests_.begin(); it != requests_.end(); ++it) {
    if (it->surfaces != key) continue;
    if (it != requests_.begin()) {
      Request found = std::move(*it);
      requests_.erase(it);
      requests_.push_front(std::move(found));
    }
    return requests_.front().object.get();
  }
  const ProgramPorts& ports = model_->ports();
  Request made;
  made.surfaces = std::move(key);
  ANELANE_TRY(framework_->guarded("make a request", [&]() -> Status {
    const Foundation make(*framework_);
    const auto list = [&](const std::vector<Surface*>& surfaces, const std::vector<size_t>& order) {
      std::vector<Id> items;
      for (const size_t port : order) items.push_back(surfaces[port]->object());
      return make.array(items);
    };
    const auto numbers = [&](const std::vector<int64_t>& values) {
      std::vector<Id> items;
      for (const int64_t value : values) items.push_back(make.number(value));
      return make.array(items);
    };
    made.object =
        Ref(framework_,
            framework_->call<Id>(Fn::kMakeRequest, list(in, ports.input_order), numbers(ports.input_symbols),
                                 list(out, ports.output_order), numbers(ports.output_symbols), Id{nullptr},
                                 Id{nullptr}, make.number(ports.procedure)));
    if (!made.object) return error(Code::kInternal, "the framework does not take a request");
    return {};
  }));
  requests_.push_front(std::move(made));
  if (requests_.size() > limits::kRequestsKept) requests_.pop_back();
  return requests_.front().object.get();
}

Status AppleProgram::run(std::span<const Buffer> in, std::span<const Buffer> out) {
  const ProgramPorts& ports = model_->ports();
  ANELANE_TRY(check_buffers(ports.inputs, in, "input"));
  ANELANE_TRY(check_buffers(ports.outputs, out, "output"));
  own_in_.resize(in.size());
  own_out_.resize(out.size());
  std::vector<Surface*> from, to;
  for (size_t i = 0; i < in.size(); ++i) {
    ANELANE_ASSIGN(Surface * surface, surface_for(ports.inputs[i], in[i], &own_in_[i]));
    if (copied(surface, own_in_[i])) {
      ANELANE_TRY(surface->begin_access(EngineMemory::Access::kWrite));
      std::memcpy(surface->buffer().data, in[i].data, ports.inputs[i].bytes);
      clear_padding(ports.inputs[i], surface->buffer().data);
      ANELANE_TRY(surface->end_access(EngineMemory::Access::kWrite));
    }
    from.push_back(surface);
  }
  for (size_t i = 0; i < out.size(); ++i) {
    ANELANE_ASSIGN(Surface * surface, surface_for(ports.outputs[i], out[i], &own_out_[i]));
    for (const auto* side : {&from, &to})
      for (const Surface* other : *side)
        if (other == surface)
          return error(Code::kInvalidArgument,
                       "output " + ports.outputs[i].name + " has the memory of another port of the same run");
    to.push_back(surface);
  }
  ANELANE_ASSIGN(const Id request, request_for(from, to));
  ANELANE_TRY(model_->evaluate(request));
  for (size_t i = 0; i < out.size(); ++i) {
    if (!copied(to[i], own_out_[i])) continue;
    ANELANE_TRY(to[i]->begin_access(EngineMemory::Access::kRead));
    std::memcpy(out[i].data, to[i]->buffer().data, ports.outputs[i].bytes);
    ANELANE_TRY(to[i]->end_access(EngineMemory::Access::kRead));
    clear_padding(ports.outputs[i], out[i].data);
  }
  return {};
}

}  // namespace anelane::apple
