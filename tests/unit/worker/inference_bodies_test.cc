// The binary bodies: layout, round trips, and every cut of them.
#include <gtest/gtest.h>

#include <functional>

#include "worker/protocol.h"

namespace anelane::worker {
namespace {

TEST(InferenceBodies, EmbedRoundTrip) {
  const EmbedBody body{128, 64, 0x1122334455667788u, {1, 128, 7}};
  const std::string wire = encode(body);
  EXPECT_EQ(wire.size(), 4u + 8 + 8 + 4 + 12);
  EXPECT_EQ(static_cast<uint8_t>(wire[12]), 0x88) << "little endian";
  const Result<EmbedBody> back = decode_embed(wire);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->shape, 128u);
  EXPECT_EQ(back->ids_offset, 64u);
  EXPECT_EQ(back->out_offset, 0x1122334455667788u);
  EXPECT_EQ(back->lengths, body.lengths);
}

TEST(InferenceBodies, EmbeddedAndRunRoundTrip) {
  const Result<EmbeddedBody> embedded = decode_embedded(encode(EmbeddedBody{3, 384}));
  ASSERT_TRUE(embedded.ok());
  EXPECT_EQ(embedded->count, 3u);
  EXPECT_EQ(embedded->dim, 384u);
  const Result<RunBody> run = decode_run(encode(RunBody{256, {0, 64, 128}, {~uint64_t{0}}}));
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run->shape, 256u);
  EXPECT_EQ(run->in_offsets, (std::vector<uint64_t>{0, 64, 128}));
  EXPECT_EQ(run->out_offsets, (std::vector<uint64_t>{~uint64_t{0}}));
}

TEST(InferenceBodies, EveryTruncationAndEveryExtensionIsRefused) {
  const std::vector<std::pair<std::string, std::function<Status(std::string_view)>>> cases = {
      {encode(EmbedBody{128, 64, 4096, {1, 2, 3}}), [](auto text) { return decode_embed(text).status(); }},
      {encode(EmbeddedBody{3, 384}), [](auto text) { return decode_embedded(text).status(); }},
      {encode(RunBody{256, {0, 64}, {128}}), [](auto text) { return decode_run(text).status(); }},
  };
  for (const auto& [wire, decode] : cases) {
    EXPECT_TRUE(decode(wire).ok());
    for (size_t length = 0; length < wire.size(); ++length)
      EXPECT_EQ(decode(std::string_view(wire).substr(0, length)).code(), Code::kProtocol) << length;
    EXPECT_EQ(decode(wire + '\0').code(), Code::kProtocol);
  }
}

TEST(InferenceBodies, CountsBeyondTheBytesAllocateNothing) {
  std::string wire = encode(EmbedBody{128, 0, 0, {}});
  for (size_t i = wire.size() - 4; i < wire.size(); ++i) wire[i] = '\xff';
  EXPECT_EQ(decode_embed(wire).status().code(), Code::kProtocol);
  std::string run = encode(RunBody{128, {}, {}});
  for (size_t i = 4; i < 8; ++i) run[i] = '\xff';
  EXPECT_EQ(decode_run(run).status().code(), Code::kProtocol);
}

}  // namespace
}  // namespace anelane::worker
