#include "served.h"

#include <cstring>

namespace anelane {
namespace {
constexpr size_t kArenaBytes = 8u << 20;
constexpr uint64_t kOut = 4u << 20;
}  // namespace

Served::Served(std::unique_ptr<Engine> engine, const std::string& folder, uint64_t temp_space_min)
    : engine_(std::move(engine)), arena_(*worker::Arena::create(kArenaBytes)) {
  ModelOpenOptions options;
  options.dialect = engine_->info().dialect;
  Result<std::shared_ptr<const Model>> model = open_model(folder, options);
  EXPECT_TRUE(model.ok()) << model.status().message();
  opened_ = *std::move(model);
  model_ = std::make_unique<worker::ServedModel>(*engine_, opened_, LoaderOptions{temp_space_min}, activity_);
}

std::vector<float> Served::embed(uint32_t shape, const std::vector<std::vector<int32_t>>& sequences) {
  worker::EmbedBody body;
  body.shape = shape;
  body.out_offset = kOut;
  uint8_t* at = arena_->data();
  for (const auto& ids : sequences) {
    body.lengths.push_back(static_cast<uint32_t>(ids.size()));
    std::memcpy(at, ids.data(), ids.size() * 4);
    at += ids.size() * 4;
  }
  const Result<worker::EmbeddedBody> done = model_->embed(body, *arena_);
  EXPECT_TRUE(done.ok()) << done.status().message();
  std::vector<float> out(sequences.size() * summary().dim);
  std::memcpy(out.data(), arena_->data() + kOut, out.size() * 4);
  return out;
}

std::vector<uint8_t> Served::run(uint32_t shape) {
  const uint64_t bytes = uint64_t{summary().width} * shape * 2;
  Half* x = reinterpret_cast<Half*>(arena_->data());
  for (uint64_t i = 0; i < bytes / 2; ++i) x[i] = float_to_half(static_cast<float>(i % 17) * 0.125f - 1.0f);
  std::memset(arena_->data() + bytes, 0, shape * 2);
  const Status status = model_->run({shape, {0, bytes}, {kOut}}, *arena_);
  EXPECT_TRUE(status.ok()) << status.message();
  return {arena_->data() + kOut, arena_->data() + kOut + bytes};
}

}  // namespace anelane
