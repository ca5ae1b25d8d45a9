// Inference of a resident shape. EMBED goes from token ids to vectors; RUN goes from ports to ports. Between
// the layers nothing is copied: two buffers of the engine's own memory take turns as output and next input.
// What RUN finds in the arena is brought into them once, where the engine would otherwise copy it for every
// layer.
//
// Everything that a frame names is checked before the first layer runs: offsets and lengths against the
// arena, ids against the vocabulary. The ids are copied out of the arena first and only the copy is checked
// and used, because the other end may still write there.
#include <cstring>

#include "worker/served_model.h"

namespace anelane::worker {
namespace {

Status not_admitted(uint32_t shape) {
  return error(Code::kInternal, "shape_not_admitted: shape " + std::to_string(shape) + " is not resident")
      .with_shape(shape);
}

Status outside(const std::string& what, uint64_t offset, uint64_t bytes, const Arena& arena) {
  return error(Code::kInvalidArgument, what + " of " + std::to_string(bytes) + " bytes at offset " +
                                           std::to_string(offset) + " does not lie in the arena of " +
                                           std::to_string(arena.size()) + " bytes");
}

bool overlap(uint64_t a, uint64_t a_bytes, uint64_t b, uint64_t b_bytes) {
  return a < b + b_bytes && b < a + a_bytes;
}

// Runs the layers from `in` to `out`. in[0] is the activation, the rest is the same for every layer.
Status run_chain(const ResidentShape& room, std::vector<Buffer> in, std::span<const Buffer> out,
                 Activity* activity) {
  const size_t count = room.layers.size();
  Buffer spare[2] = {room.first.buffer(), room.second.buffer()};
  // The input may be one of our own two buffers: never write the one that is being read.
  size_t next = in[0].data == spare[0].data ? 1 : 0;
  for (size_t layer = 0; layer + 1 < count; ++layer) {
    const Buffer to = spare[next];
    ANELANE_TRY(room.layers[layer]->run(in, std::span(&to, 1)));
    activity->steps.fetch_add(1, std::memory_order_relaxed);
    in[0] = to;
    next ^= 1;
  }
  ANELANE_TRY(room.layers[count - 1]->run(in, out));
  activity->steps.fetch_add(1, std::memory_order_relaxed);
  return {};
}

// Runs `body` while the CPU may touch these buffers.
template <class Body>
Status with_access(std::initializer_list<const PortBuffer*> buffers, EngineMemory::Access access, Body body) {
  Status status;
  size_t begun = 0;
  for (const PortBuffer* buffer : buffers) {
    if (!status.ok()) break;
    if (buffer->memory() != nullptr) status = buffer->memory()->begin_access(access);
    if (status.ok()) ++begun;
  }
  if (status.ok()) status = body();
  for (const PortBuffer* buffer : buffers) {
    if (begun-- == 0) break;
    if (buffer->memory() == nullptr) continue;
    const Status ended = buffer->memory()->end_access(access);
    if (status.ok()) status = ended;
  }
  return status;
}

// Copies an input from the arena into memory of the engine.
Status bring_in(const PortBuffer& into, const Port& port, Buffer* input) {
  ANELANE_TRY(with_access({&into}, EngineMemory::Access::kWrite, [&]() -> Status {
    std::memcpy(into.buffer().data, input->data, static_cast<size_t>(port.bytes));
    clear_padding(port, into.buffer().data);
    return {};
  }));
  *input = into.buffer();
  return {};
}

}  // namespace

Result<ResidentShape*> ServedModel::find_resident(uint32_t shape) {
  const auto found = resident_.find(shape);
  if (found == resident_.end()) return not_admitted(shape);
  return &found->second;
}

Result<std::vector<int32_t>> ServedModel::checked_ids(const EmbedBody& body, const Arena& arena) const {
  uint64_t total = 0;
  for (size_t i = 0; i < body.lengths.size(); ++i) {
    if (body.lengths[i] == 0 || body.lengths[i] > body.shape)
      return error(Code::kInvalidArgument, "sequence " + std::to_string(i) + " has " +
                                               std::to_string(body.lengths[i]) + " tokens, shape " +
                                               std::to_string(body.shape) + " holds 1 to as many")
          .with_item(static_cast<int64_t>(i))
          .with_shape(body.shape);
    total += body.lengths[i];
  }
  if (!arena.holds(body.ids_offset, total * 4, 4))
    return outside("the token list", body.ids_offset, total * 4, arena);
  const uint64_t floats = uint64_t{model_->summary().dim} * body.lengths.size();
  if (!arena.holds(body.out_offset, floats * 4, 4))
    return outside("the result", body.out_offset, floats * 4, arena);
  if (overlap(body.ids_offset, total * 4, body.out_offset, floats * 4))
    return error(Code::kInvalidArgument, "the token list and the result overlap in the arena");
  std::vector<int32_t> ids(static_cast<size_t>(total));
  if (total != 0) std::memcpy(ids.data(), arena.data() + body.ids_offset, ids.size() * 4);
  size_t begin = 0;
  for (size_t i = 0; i < body.lengths.size(); ++i) {
    Status status = model_->check_tokens(std::span(ids).subspan(begin, body.lengths[i]));
    if (!status.ok()) return std::move(status).with_item(static_cast<int64_t>(i));
    begin += body.lengths[i];
  }
  return ids;
}

Status ServedModel::embed_one(ResidentShape* room, uint32_t shape, std::span<const int32_t> ids,
                              std::span<float> out) {
  ANELANE_TRY(with_access({&room->first, &room->mask}, EngineMemory::Access::kWrite, [&] {
    return model_->embed_tokens(ids, shape, room->first.halves(), room->mask.halves());
  }));
  // The last layer writes the buffer that it does not read: with an odd number of layers, the second.
  PortBuffer& last = room->layers.size() % 2 == 1 ? room->second : room->first;
  std::vector<Buffer> in{room->first.buffer()};
  if (room->layers.front()->inputs().size() > 1) in.push_back(room->mask.buffer());
  const Buffer result = last.buffer();
  ANELANE_TRY(run_chain(*room, std::move(in), std::span(&result, 1), &activity_));
  return with_access({&last}, EngineMemory::Access::kRead, [&] {
    return model_->finish(last.halves(), shape, static_cast<uint32_t>(ids.size()), out);
  });
}

Result<EmbeddedBody> ServedModel::embed(const EmbedBody& body, const Arena& arena) {
  const ModelSummary& summary = model_->summary();
  ANELANE_ASSIGN(ResidentShape * room, find_resident(body.shape));
  const auto inputs = room->layers.front()->inputs();
  const auto outputs = room->layers.back()->outputs();
  if (summary.kind == ModelKind::kProgram || inputs.size() != 2 || outputs.size() != 1 ||
      outputs[0].bytes != inputs[0].bytes)
    return error(Code::kUnsupported, summary.name + " takes no tokens: use run with its ports");
  ANELANE_ASSIGN(const std::vector<int32_t> ids, checked_ids(body, arena));
  std::vector<float> vector(summary.dim);
  uint8_t* out = arena.data() + body.out_offset;
  size_t begin = 0;
  for (size_t i = 0; i < body.lengths.size(); ++i) {
    if (activity_.stopping.load(std::memory_order_relaxed))
      return error(Code::kCancelled, "the worker was asked to end during the inference");
    Status status =
        embed_one(room, body.shape, std::span(ids).subspan(begin, body.lengths[i]), std::span(vector));
    if (!status.ok()) return std::move(status).with_item(static_cast<int64_t>(i)).with_shape(body.shape);
    std::memcpy(out, vector.data(), vector.size() * 4);
    out += vector.size() * 4;
    begin += body.lengths[i];
  }
  return EmbeddedBody{static_cast<uint32_t>(body.lengths.size()), summary.dim};
}

Status ServedModel::run(const RunBody& body, const Arena& arena) {
  ANELANE_ASSIGN(ResidentShape * room, find_resident(body.shape));
  const ProgramWiring* wiring = model_->wiring(body.shape);
  const std::span<const Port> inputs = wiring != nullptr ? wiring->inputs : room->layers.front()->inputs();
  const std::span<const Port> outputs = wiring != nullptr ? wiring->outputs : room->layers.back()->outputs();
  if (body.in_offsets.size() != inputs.size() || body.out_offsets.size() != outputs.size())
    return error(Code::kInvalidArgument, "a run of this model takes " + std::to_string(inputs.size()) +
                                             " inputs and " + std::to_string(outputs.size()) +
                                             " outputs, not " + std::to_string(body.in_offsets.size()) +
                                             " and " + std::to_string(body.out_offsets.size()))
        .with_shape(body.shape);
  std::vector<Buffer> in, out;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!arena.holds(body.in_offsets[i], inputs[i].bytes, 64))
      return outside("input " + inputs[i].name, body.in_offsets[i], inputs[i].bytes, arena);
    in.push_back({arena.data() + body.in_offsets[i], inputs[i].bytes});
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!arena.holds(body.out_offsets[i], outputs[i].bytes, 64))
      return outside("output " + outputs[i].name, body.out_offsets[i], outputs[i].bytes, arena);
    for (size_t k = 0; k < inputs.size(); ++k)
      if (overlap(body.in_offsets[k], inputs[k].bytes, body.out_offsets[i], outputs[i].bytes))
        return error(Code::kInvalidArgument,
                     "output " + outputs[i].name + " overlaps input " + inputs[k].name + " in the arena");
    out.push_back({arena.data() + body.out_offsets[i], outputs[i].bytes});
  }
  if (wiring != nullptr) return run_wired(*room, *wiring, in, out);
  if (engine_.copies_foreign_memory() && room->layers.size() > 1) {
    ANELANE_TRY(bring_in(room->first, inputs[0], &in[0]));
    if (in.size() > 1) ANELANE_TRY(bring_in(room->mask, inputs[1], &in[1]));
  }
  return run_chain(*room, std::move(in), out, &activity_);
}

}  // namespace anelane::worker
