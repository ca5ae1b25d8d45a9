#include "abi/calls.h"

namespace anelane::abi {
namespace {

// `name` is the parameter's, `one` what an element of it is called.
Status check_count(const void* items, size_t count, const char* name, const char* one) {
  if (count == 0) return error(Code::kInvalidArgument, std::string("count is 0; give at least one ") + one);
  if (items == nullptr) return null_argument(name);
  if (count > limits::kMaxItemsPerCall)
    return error(Code::kInvalidArgument, "count is " + std::to_string(count) + "; at most " +
                                             std::to_string(limits::kMaxItemsPerCall) +
                                             " are taken in one call")
        .with_limit(limits::kMaxItemsPerCall);
  return {};
}

}  // namespace

Result<std::shared_ptr<LaneModel>> find_ready_model(anelane_model handle) {
  ANELANE_ASSIGN(std::shared_ptr<LaneModel> model, find_model(handle));
  if (model->phase.load() != LaneModel::Phase::kReady)
    return error(Code::kRetired, "the model was retired; load it again")
        .with_model(model->name)
        .with_lane(model->lane->id());
  return model;
}

// A model that takes token sequences.
static Result<std::shared_ptr<LaneModel>> find_encoder(anelane_model handle) {
  ANELANE_ASSIGN(std::shared_ptr<LaneModel> model, find_ready_model(handle));
  if (model->summary.kind == ModelKind::kProgram)
    return error(Code::kUnsupported, model->name +
                                         " is made of programs and gives no vectors of texts or tokens; "
                                         "lease a shape and run it")
        .with_model(model->name)
        .with_lane(model->lane->id());
  return model;
}

Result<std::shared_ptr<EmbedOperation>> make_embed(anelane_model handle, const anelane_tokens* items,
                                                   size_t count, uint64_t deadline) {
  ANELANE_TRY(check_count(items, count, "items", "token sequence"));
  ANELANE_ASSIGN(std::shared_ptr<LaneModel> model, find_encoder(handle));
  std::vector<std::vector<int32_t>> copies;
  copies.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    if (items[i].ids == nullptr && items[i].count > 0)
      return error(Code::kInvalidArgument, "item " + std::to_string(i) + ": ids must not be NULL")
          .with_item(static_cast<int64_t>(i));
    // Refused by its length before anything is copied: a wild count must not be read.
    if (items[i].count > model->summary.ceiling)
      return error(Code::kSequenceTooLong, "item " + std::to_string(i) + " has " +
                                               std::to_string(items[i].count) + " tokens, " + model->name +
                                               " takes at most " + std::to_string(model->summary.ceiling) +
                                               "; split it, nothing is truncated")
          .with_item(static_cast<int64_t>(i))
          .with_limit(model->summary.ceiling)
          .with_model(model->name);
    copies.emplace_back(items[i].ids, items[i].ids + items[i].count);
  }
  return EmbedOperation::make(std::move(model), std::move(copies), deadline);
}

Result<std::shared_ptr<EmbedOperation>> make_embed_texts(anelane_model handle, const char* const* utf8,
                                                         size_t count, uint64_t deadline) {
  ANELANE_TRY(check_count(utf8, count, "utf8", "text"));
  ANELANE_ASSIGN(std::shared_ptr<LaneModel> model, find_encoder(handle));
  ANELANE_ASSIGN(const std::shared_ptr<const Tokenizer> tokenizer, model->tokenizer());
  std::vector<std::vector<int32_t>> items;
  items.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const auto item = static_cast<int64_t>(i);
    if (utf8[i] == nullptr)
      return error(Code::kInvalidArgument, "text " + std::to_string(i) + " must not be NULL").with_item(item);
    auto ids = tokenizer->encode(utf8[i]);
    if (!ids.ok())
      return std::move(ids).status().in("text " + std::to_string(i)).with_item(item).with_model(model->name);
    items.push_back(*std::move(ids));
  }
  return EmbedOperation::make(std::move(model), std::move(items), deadline);
}

Result<std::vector<RunTensor>> read_tensors(const anelane_tensor* tensors, size_t count, const char* name) {
  constexpr size_t kMaxPorts = 255;  // the engine's own bound for one side
  if (count > 0 && tensors == nullptr) return null_argument(name);
  if (count > kMaxPorts)
    return error(Code::kInvalidArgument, std::string("too many tensors in ") + name).with_limit(kMaxPorts);
  std::vector<RunTensor> to;
  for (size_t i = 0; i < count; ++i) to.push_back({tensors[i].data, tensors[i].bytes, tensors[i].port});
  return to;
}

}  // namespace anelane::abi
