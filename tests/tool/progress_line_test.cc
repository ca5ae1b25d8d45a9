// The words of the progress line. That it appears on terminals only is shown with the program itself
// (tool_test.py).
#include "progress_line.h"

#include <gtest/gtest.h>

namespace anelane_tool {
namespace {

TEST(ProgressLine, SaysShapeLayerAndTimeLeft) {
  EXPECT_EQ(ProgressLine::describe(128, 3, 6, 11'200), "shape 128: layer 3 of 6, about 12 s left");
}

TEST(ProgressLine, SaysNothingOfATimeThatNobodyKnows) {
  EXPECT_EQ(ProgressLine::describe(512, 1, 22, 0), "shape 512: layer 1 of 22");
}

}  // namespace
}  // namespace anelane_tool
