// The frame codec: what goes in comes out, however it is cut, and garbage is condemned early.
#include <gtest/gtest.h>

#include <random>

#include "base/limits.h"
#include "worker/protocol.h"

namespace anelane::worker {
namespace {

std::span<const uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

const std::vector<Frame>& samples() {
  static const std::vector<Frame> frames = {
      {FrameType::kPing, 0, ""},
      {FrameType::kInit, 1, "{\"version\":3}"},
      {FrameType::kRan, 0xffffffffffffffffu, ""},
      {FrameType::kEmbed, 0x0123456789abcdefu, std::string("\0\1\2\xff", 4)},
      {FrameType::kStop, 7, std::string(5000, 'x')},
  };
  return frames;
}

void expect_same(const Frame& a, const Frame& b) {
  EXPECT_EQ(a.type, b.type);
  EXPECT_EQ(a.request, b.request);
  EXPECT_EQ(a.body, b.body);
}

TEST(Frame, WireFormatIsTheDocumentedOne) {
  const std::string wire = encode_frame({FrameType::kEvict, 0x0102030405060708u, "ab"});
  EXPECT_EQ(wire, std::string("\x0b\0\0\0\x08\x08\x07\x06\x05\x04\x03\x02\x01"
                              "ab",
                              15));
}

TEST(Frame, RoundTripByteForByte) {
  for (const Frame& frame : samples()) {
    const std::string wire = encode_frame(frame);
    FrameReader reader;
    for (size_t i = 0; i < wire.size(); ++i) {
      const Result<std::optional<Frame>> early = reader.next();
      ASSERT_TRUE(early.ok());
      ASSERT_FALSE(early->has_value()) << "a frame came out after " << i << " of " << wire.size() << " bytes";
      reader.feed(bytes_of(std::string_view(wire).substr(i, 1)));
    }
    const Result<std::optional<Frame>> whole = reader.next();
    ASSERT_TRUE(whole.ok() && whole->has_value());
    expect_same(**whole, frame);
    EXPECT_TRUE(reader.empty());
  }
}

TEST(Frame, ManyFramesInOneReadKeepTheirOrder) {
  std::string wire;
  for (int round = 0; round < 500; ++round)
    for (const Frame& frame : samples()) wire += encode_frame(frame);
  std::mt19937 random(3);
  FrameReader reader;
  size_t fed = 0, seen = 0;
  while (seen < 500 * samples().size()) {
    const size_t piece = std::min<size_t>(wire.size() - fed, random() % 9000);
    reader.feed(bytes_of(std::string_view(wire).substr(fed, piece)));
    fed += piece;
    for (;;) {
      Result<std::optional<Frame>> next = reader.next();
      ASSERT_TRUE(next.ok());
      if (!next->has_value()) break;
      expect_same(**next, samples()[seen++ % samples().size()]);
    }
  }
  EXPECT_TRUE(reader.empty());
}

TEST(Frame, LargestBodyFitsAndOneByteMoreDoesNot) {
  Frame frame{FrameType::kEmbed, 1, std::string(limits::kFrameMax - 9, 'x')};
  EXPECT_TRUE(check_frame_size(frame).ok());
  FrameReader reader;
  reader.feed(bytes_of(encode_frame(frame)));
  const Result<std::optional<Frame>> whole = reader.next();
  ASSERT_TRUE(whole.ok() && whole->has_value());
  EXPECT_EQ((*whole)->body.size(), frame.body.size());
  frame.body += 'x';
  EXPECT_EQ(check_frame_size(frame).code(), Code::kInvalidArgument);
  FrameReader other;
  other.feed(bytes_of(encode_frame(frame)));
  EXPECT_EQ(other.next().status().code(), Code::kProtocol);
}

TEST(Frame, LengthsThatCannotBeAreCondemnedAfterFourBytes) {
  for (const uint32_t length :
       {0u, 1u, 8u, static_cast<uint32_t>(limits::kFrameMax) + 1, 0x7fffffffu, 0xffffffffu}) {
    std::string wire;
    for (int shift = 0; shift < 32; shift += 8) wire.push_back(static_cast<char>(length >> shift));
    FrameReader reader;
    reader.feed(bytes_of(std::string_view(wire).substr(0, 3)));
    EXPECT_TRUE(reader.next().ok());
    reader.feed(bytes_of(std::string_view(wire).substr(3)));
    const Status status = reader.next().status();
    EXPECT_EQ(status.code(), Code::kProtocol) << length;
    EXPECT_NE(status.message().find(std::to_string(length)), std::string::npos);
  }
}

TEST(Frame, UnknownTypesAreCondemnedAfterFiveBytes) {
  for (int type = 0; type < 256; ++type) {
    const std::string wire{'\x20', 0, 0, 0, static_cast<char>(type)};
    FrameReader reader;
    reader.feed(bytes_of(wire));
    const bool known = type >= 1 && type <= 17;
    EXPECT_EQ(reader.next().ok(), known) << type;
  }
}

TEST(Frame, GarbageNeverHangsOrCrashes) {
  std::mt19937 random(11);
  for (int round = 0; round < 2000; ++round) {
    FrameReader reader;
    std::string wire = encode_frame(samples()[round % samples().size()]);
    for (int flips = 0; flips < 3; ++flips)
      wire[random() % std::min<size_t>(wire.size(), 14)] ^= 1 << random() % 8;
    reader.feed(bytes_of(wire));
    for (int i = 0; i < 1000; ++i) {
      const Result<std::optional<Frame>> next = reader.next();
      if (!next.ok() || !next->has_value()) break;
      ASSERT_LT(i, 999);
    }
  }
}

}  // namespace
}  // namespace anelane::worker
