#include "lane/lane_model.h"

#include "lane/lane.h"

namespace anelane {

void LaneModel::take_headers(Headers headers) {
  summary = std::move(headers.summary);
  bay_bytes = headers.bay_bytes;
  name = summary.name;
  last_failure.resize(summary.ladder.size());
  admissions.resize(summary.ladder.size());
  evictions.resize(summary.ladder.size(), 0);
}

Result<std::shared_ptr<const Tokenizer>> LaneModel::tokenizer() {
  std::lock_guard lock(tokenizer_mutex_);
  if (!tokenizer_) {
    ANELANE_ASSIGN(tokenizer_, load_tokenizer(path));
  }
  return tokenizer_;
}

void LaneModel::drop_tokenizer() {
  std::lock_guard lock(tokenizer_mutex_);
  tokenizer_.reset();
}

Status LaneModel::check_sequence(std::span<const int32_t> ids, int64_t item) const {
  const std::string which = item < 0 ? "the sequence" : "item " + std::to_string(item);
  if (ids.empty())
    return error(Code::kInvalidSequence, which + " has no tokens; give at least one")
        .with_item(item)
        .with_model(name);
  if (ids.size() > summary.ceiling)
    return error(Code::kSequenceTooLong, which + " has " + std::to_string(ids.size()) + " tokens, " + name +
                                             " takes at most " + std::to_string(summary.ceiling) +
                                             "; split it, nothing is truncated")
        .with_item(item)
        .with_limit(summary.ceiling)
        .with_model(name);
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] >= 0 && static_cast<uint32_t>(ids[i]) < summary.vocab) continue;
    return error(Code::kInvalidSequence, which + ": token " + std::to_string(i) + " is " +
                                             std::to_string(ids[i]) + ", the vocabulary of " + name +
                                             " has " + std::to_string(summary.vocab) + " entries")
        .with_item(item)
        .with_limit(summary.vocab)
        .with_model(name);
  }
  return {};
}

Status LaneModel::with_names(Status status, uint32_t rung) const {
  if (status.ok()) return status;
  if (status.detail().model.empty()) status = std::move(status).with_model(name);
  if (status.detail().shape == 0 && rung < summary.ladder.size())
    status = std::move(status).with_shape(summary.ladder[rung]);
  return std::move(status).with_lane(lane->id());
}

}  // namespace anelane
