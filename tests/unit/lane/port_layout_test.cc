#include "lane/port_layout.h"

#include <gtest/gtest.h>

namespace anelane {
namespace {

ModelSummary minilm() {
  ModelSummary m;
  m.dim = m.width = 384;
  m.ceiling = 512;
  m.ladder = {128, 256, 512};
  return m;
}

TEST(PortLayout, RowsStartAtMultiplesOf64Bytes) {
  ModelSummary odd = minilm();
  odd.width = 3;
  for (const uint32_t shape : {32u, 40u, 96u, 512u}) {
    for (const PortLayout& p : port_layouts(odd, shape)) {
      EXPECT_EQ(p.strides[2] % 64, 0u) << p.name << " at " << shape;
      EXPECT_GE(p.strides[2], shape * 2u);
      EXPECT_EQ(p.bytes, p.dims[1] * p.strides[1]);
      EXPECT_EQ(p.bay_offset % 64, 0u);
    }
  }
}

TEST(PortLayout, PortsDoNotOverlapAndFitTheBay) {
  const ModelSummary m = minilm();
  for (const uint32_t shape : m.ladder) {
    uint64_t end = 0;
    for (const PortLayout& p : port_layouts(m, shape)) {
      EXPECT_GE(p.bay_offset, end);
      end = p.bay_offset + p.bytes;
    }
    EXPECT_LE(end, bay_bytes_for(m));
  }
}

TEST(PortLayout, OneLongestSequenceAlwaysFitsAnEmbedExchange) {
  ModelSummary m = minilm();
  m.width = 8;
  m.dim = 4096;
  m.ceiling = 8192;
  m.ladder = {8192};
  EXPECT_LE(embed_layout(m.ceiling, 1, m.dim).bytes, bay_bytes_for(m));
  EXPECT_EQ(embed_layout(3, 2, 5).out_offset % 64, 0u);
}

}  // namespace
}  // namespace anelane
