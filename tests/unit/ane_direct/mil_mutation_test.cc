// Some thousand damaged programs through the whole compiler. What still compiles must pass the check that
// plans from files must pass: the executor relies on it. The address sanitizer makes this a memory test.
#include <random>

#include "ane_direct/soft/compile.h"
#include "soft_harness.h"

namespace anelane::soft {
namespace {

// Replaces, removes, doubles or moves pieces of the text.
std::string mutate(std::string text, std::mt19937* random) {
  const auto below = [&](size_t n) { return (*random)() % std::max<size_t>(n, 1); };
  const char* const kPieces[] = {
      "0",    "1",  "-1",    "16384", "4294967295", "fp16",      "fp32",      "int32",    "tensor<fp16, [1]>",
      "(",    ")",  "[",     "]",     "{",          "}",         ",",         ";",        "\"",
      "t1",   "c0", "a00_x", "conv",  "matmul",     "transpose", "softmax",   "BLOBFILE", "0x1p+15",
      "true", "->", "\n",    "axes",  "x",          "squeeze",   "reduce_sum"};
  const size_t changes = 1 + below(4);
  for (size_t i = 0; i < changes; ++i) {
    const size_t at = below(text.size()), length = below(40);
    switch (below(6)) {
      case 0:
        text.erase(at, length);
        break;
      case 1:
        text.insert(at, text.substr(below(text.size()), length));
        break;
      case 2:
        text.insert(at, kPieces[below(std::size(kPieces))]);
        break;
      case 3:
        text[at] = static_cast<char>((*random)());
        break;
      default: {  // a number for another one: the text stays well formed
        const size_t digit = text.find_first_of("0123456789", at);
        if (digit == std::string::npos) break;
        const size_t end = text.find_first_not_of("0123456789", digit);
        text.replace(digit, end - digit, kPieces[below(5)]);
      }
    }
  }
  return text;
}

TEST(MilMutations, NeverCrashAndNeverMakeABadPlan) {
  const LayerSize size{32, 64, 2, 32};
  const auto program = write_layer(size, random_layer(size, 1));
  ASSERT_TRUE(program.ok());
  MilWriter mil;
  const auto x = mil.input("x", {1, 8, 4, 40});
  const auto parts = mil.split(mil.transpose(x, {0, 2, 1, 3}), {1, 3}, 1);
  const auto mixed = mil.concat({mil.reduce_sum(parts[1], {1, 3}), mil.reduce_max(parts[0], {1, 3})}, 2);
  mil.output("y",
             mil.softmax(mil.expand_dims(
                             mil.squeeze(mil.slice_by_size(mixed, {0, 0, 2, 0}, {1, 1, 9, 1}), {0, 3}), {2}),
                         1));
  mil.output("z", mil.layer_norm(mil.matmul(parts[1], parts[1], true, false), {2}, {}, {}, 0.001f));
  const auto second = std::move(mil).finish();
  ASSERT_TRUE(second.ok()) << second.status().message();
  std::mt19937 random(11);
  int compiled = 0;
  for (int round = 0; round < 4000; ++round) {
    Program damaged = round % 2 == 0 ? *program : *second;
    damaged.mil = mutate(damaged.mil, &random);
    const auto plan = compile_program(damaged);
    if (!plan.ok()) {
      ASSERT_EQ(plan.status().code(), Code::kCompileFailed);
      ASSERT_FALSE(plan.status().message().empty());
      continue;
    }
    ++compiled;
    const Status sound = check_plan(*plan, plan->weights.size());
    ASSERT_TRUE(sound.ok()) << sound.message() << "\n" << damaged.mil;
  }
  EXPECT_GT(compiled, 20);
}

TEST(MilMutations, Garbage) {
  std::mt19937 random(12);
  for (int round = 0; round < 3000; ++round) {
    std::string text(random() % 200, ' ');
    for (char& c : text) c = static_cast<char>(random());
    ASSERT_FALSE(compile_program({text, {}, ""}).ok());
    ASSERT_FALSE(compile_program({"program(1.3){func main<ios18>(" + text, {}, ""}).ok());
  }
}

}  // namespace
}  // namespace anelane::soft
