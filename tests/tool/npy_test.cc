#include "npy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

namespace anelane_tool {
namespace {

TEST(Npy, EveryHalfIsRoundedToItself) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const uint16_t half = static_cast<uint16_t>(bits);
    if ((half & 0x7c00u) == 0x7c00u && (half & 0x3ffu) != 0) {
      EXPECT_TRUE(std::isnan(half_value(half)));
      continue;
    }
    ASSERT_EQ(half_of(half_value(half)), half) << bits;
  }
}

TEST(Npy, RoundingIsToNearestTiesToEven) {
  for (uint32_t bits = 0; bits < 0x7bff; ++bits) {
    const double low = static_cast<double>(half_value(static_cast<uint16_t>(bits)));
    const double high = static_cast<double>(half_value(static_cast<uint16_t>(bits + 1)));
    const float middle = static_cast<float>((low + high) / 2);  // exact
    const uint16_t even = static_cast<uint16_t>(bits % 2 == 0 ? bits : bits + 1);
    ASSERT_EQ(half_of(middle), even) << bits;
    ASSERT_EQ(half_of(std::nextafter(middle, 0.0f)), bits) << bits;
    ASSERT_EQ(half_of(std::nextafter(middle, 1e9f)), bits + 1) << bits;
    ASSERT_EQ(half_of(-middle), 0x8000u | even) << bits;
  }
  EXPECT_EQ(half_of(65519.0f), 0x7bff);
  EXPECT_EQ(half_of(65520.0f), 0x7c00);
  EXPECT_EQ(half_of(std::numeric_limits<float>::infinity()), 0x7c00);
  EXPECT_EQ(half_of(1e-30f), 0);
  EXPECT_TRUE(std::isnan(half_value(half_of(std::nanf("")))));
}

TEST(Npy, WhatIsWrittenIsReadAgain) {
  const std::string path = testing::TempDir() + "npy_test.npy";
  std::string fault;
  for (const anelane_dtype dtype : {ANELANE_F16, ANELANE_F32, ANELANE_I32, ANELANE_I8, ANELANE_U8}) {
    for (const std::vector<uint64_t>& shape : {std::vector<uint64_t>{7}, std::vector<uint64_t>{2, 3, 5},
                                               std::vector<uint64_t>{1, 1}, std::vector<uint64_t>{}}) {
      Npy array{dtype, shape, std::vector<uint8_t>(element_count(shape) * dtype_bytes(dtype))};
      for (size_t i = 0; i < array.data.size(); ++i) array.data[i] = static_cast<uint8_t>(i * 37);
      ASSERT_TRUE(write_npy(path, array, &fault)) << fault;
      const std::optional<Npy> again = read_npy(path, &fault);
      ASSERT_TRUE(again.has_value()) << fault;
      EXPECT_EQ(again->dtype, dtype);
      EXPECT_EQ(again->shape, shape);
      EXPECT_EQ(again->data, array.data);
    }
  }
  std::remove(path.c_str());
}

TEST(Npy, OnlyFloatsAreConverted) {
  Npy array{ANELANE_F32, {2}, std::vector<uint8_t>(8)};
  const float values[] = {1.5f, -0.1f};
  std::memcpy(array.data.data(), values, 8);
  ASSERT_TRUE(convert_to(ANELANE_F16, &array));
  EXPECT_EQ(array.data.size(), 4u);
  EXPECT_EQ(element_value(array, 0), 1.5);
  ASSERT_TRUE(convert_to(ANELANE_F32, &array));
  EXPECT_EQ(element_value(array, 1), static_cast<double>(half_value(half_of(-0.1f))));
  EXPECT_FALSE(convert_to(ANELANE_I32, &array));
}

}  // namespace
}  // namespace anelane_tool
