// Plans as bytes, plans that somebody damaged, and the layout of the arena.
#include <gtest/gtest.h>

#include <random>

#include "ane_direct/soft/arena_layout.h"
#include "ane_direct/soft/compile.h"
#include "ane_direct/soft/executor.h"
#include "ane_direct/soft/plan_codec.h"
#include "soft_harness.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace anelane::soft {
namespace {

Plan small_plan() {
  const LayerSize size{32, 64, 2, 32};
  const auto plan = compile_program(*write_layer(size, random_layer(size, 1)));
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  return *plan;
}

// Makes the footer right again, so that a change reaches the checks behind it.
void reseal(std::vector<uint8_t>* bytes) {
  const uint64_t hash = XXH3_64bits(bytes->data(), bytes->size() - 8);
  for (size_t i = 0; i < 8; ++i) (*bytes)[bytes->size() - 8 + i] = static_cast<uint8_t>(hash >> (8 * i));
}

TEST(PlanCodec, RoundTrip) {
  const Plan plan = small_plan();
  const std::vector<uint8_t> bytes = encode_plan(plan);
  const auto decoded = decode_plan(bytes);
  ASSERT_TRUE(decoded.ok()) << decoded.status().message();
  EXPECT_EQ(std::vector<uint8_t>(decoded->weights.begin(), decoded->weights.end()), plan.weights);
  EXPECT_EQ(decoded->plan.steps.size(), plan.steps.size());
  EXPECT_EQ(decoded->plan.inputs[1].name, "a01_mask");
  Plan again = decoded->plan;
  again.weights = plan.weights;
  EXPECT_EQ(encode_plan(again), bytes);
}

TEST(PlanCodec, SameProgramSameBytes) {
  EXPECT_EQ(encode_plan(small_plan()), encode_plan(small_plan()));
}

TEST(PlanCodec, DamageIsFound) {
  const std::vector<uint8_t> whole = encode_plan(small_plan());
  for (size_t at = 0; at < whole.size(); at += 97) {
    std::vector<uint8_t> bytes = whole;
    bytes[at] ^= 0x10;
    const auto decoded = decode_plan(bytes);
    ASSERT_FALSE(decoded.ok()) << at;
    EXPECT_EQ(decoded.status().code(), Code::kIo);
  }
  for (size_t size = 0; size < whole.size(); size += 1 + size / 16)
    EXPECT_FALSE(decode_plan(std::span(whole).subspan(0, size)).ok()) << size;
}

TEST(PlanCodec, OtherVersionsAreNotRead) {
  std::vector<uint8_t> bytes = encode_plan(small_plan());
  bytes[8] = 99;
  reseal(&bytes);
  EXPECT_NE(decode_plan(bytes).status().message().find("format version 99"), std::string::npos);
}

// What passes must run inside its memory: under the address sanitizer this is the proof.
TEST(PlanCodec, ForgedPlansAreRefusedOrHarmless) {
  const std::vector<uint8_t> whole = encode_plan(small_plan());
  std::mt19937 random(5);
  const auto threads = ThreadPool::make(1);
  UnaryTables tables;
  int accepted = 0;
  for (int round = 0; round < 3000; ++round) {
    std::vector<uint8_t> bytes = whole;
    const size_t head = 12000;  // ports and steps
    const int changes = 1 + static_cast<int>(random() % 3);
    for (int i = 0; i < changes; ++i)
      bytes[random() % head] = static_cast<uint8_t>(random() % 4 == 0 ? random() : random() % 3);
    reseal(&bytes);
    const auto decoded = decode_plan(bytes);
    if (!decoded.ok() || decoded->plan.arena_bytes > 64u << 20) continue;
    uint64_t work = 0;  // a forged step may be slow without being wrong
    for (const Step& step : decoded->plan.steps) {
      uint64_t product = 1;
      for (size_t i = 0; i < step.nest.rank; ++i)
        product *= std::min<uint64_t>(step.nest.extent[i], 1u << 12);
      work += product * (step.kind == StepKind::kGemm
                             ? std::min<uint64_t>(step.dims[kM] * step.dims[kN] * step.dims[kK], 1u << 30)
                             : 1);
    }
    if (work > 50'000'000) continue;
    ++accepted;
    std::vector<uint8_t> weights(decoded->weights.begin(), decoded->weights.end());
    const PreparedPlan prepared = prepare_plan(decoded->plan, weights.data(), best_kernels(), &tables);
    if (prepared.scratch_floats > 1u << 24) continue;
    Workspace workspace;
    workspace.reserve(decoded->plan.arena_bytes, prepared.scratch_floats, 1);
    run_plan(prepared, {best_kernels(), Numerics::kFast, **threads, workspace});
  }
  EXPECT_GT(accepted, 50);
}

TEST(ArenaLayout, LiveBuffersNeverOverlapAndDeadOnesAreReused) {
  std::mt19937 random(2);
  for (int round = 0; round < 200; ++round) {
    std::vector<ArenaBuffer> buffers;
    uint64_t sum = 0;
    for (int i = 0; i < 60; ++i) {
      const uint32_t first = random() % 100;
      buffers.push_back({1 + random() % 5000, first, first + static_cast<uint32_t>(random() % 10), 0});
      sum += buffers.back().bytes;
    }
    const uint64_t size = place_buffers(&buffers);
    EXPECT_LT(size, sum);
    for (const ArenaBuffer& a : buffers) {
      EXPECT_EQ(a.offset % 64, 0u);
      EXPECT_LE(a.offset + a.bytes, size);
      for (const ArenaBuffer& b : buffers) {
        if (&a == &b || a.last_step < b.first_step || b.last_step < a.first_step) continue;
        EXPECT_TRUE(a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset);
      }
    }
  }
}

TEST(Lower, ReshapesAndContiguousSlicesCostNoStep) {
  MilWriter mil;
  const auto x = mil.input("x", {1, 96, 1, 32});
  const auto part = mil.slice_by_size(x, {0, 32, 0, 0}, {1, 32, 1, 32});
  const auto heads = mil.reshape(part, {1, 4, 8, 32});
  mil.output("z", mil.relu(mil.transpose(heads, {1, 0, 2, 3})));
  const auto plan = compile_program(*std::move(mil).finish());
  ASSERT_TRUE(plan.ok());
  ASSERT_EQ(plan->steps.size(), 1u);
  EXPECT_EQ(plan->steps[0].a.offset, plan->inputs[0].offset + 32 * 32 * 2);
}

TEST(Lower, ArenaIsFarSmallerThanAllValuesTogether) {
  const LayerSize size;
  const auto plan = compile_program(*write_layer(size, random_layer(size, 1)));
  ASSERT_TRUE(plan.ok());
  EXPECT_LT(plan->arena_bytes, 3u << 20);
}

}  // namespace
}  // namespace anelane::soft
