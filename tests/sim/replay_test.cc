// Recorded histories replayed: random worlds lead to the same actions again, a changed line to a difference
// at that line, and what is no history to an error that names the line.
#include "scheduler/replay.h"

#include <gtest/gtest.h>

#include "random_workload.h"
#include "scheduler/history.h"

namespace anelane::sim {
namespace {

using sched::HistoryRecorder;
using sched::Replay;
using sched::replay_history;

std::string record(uint64_t seed, size_t happenings) {
  Draws draws(seed);
  const RandomWorld drawn = draw_world(draws, happenings);
  std::string text;
  World world(drawn.workload, drawn.habits);
  HistoryRecorder recorder([&text](const std::string& line) { text += line + "\n"; });
  recorder.start(drawn.workload.options, "test");
  world.scheduler().observe(&recorder);
  world.run();
  world.scheduler().observe(nullptr);
  return text;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}
std::string text_of(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}
bool replace(std::string* text, const std::string& from, const std::string& to) {
  const size_t at = text->find(from);
  if (at == std::string::npos) return false;
  text->replace(at, from.size(), to);
  return true;
}

TEST(Replay, RandomWorldsLeadToTheSameActionsAgain) {
  uint64_t steps = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    const Result<Replay> replay = replay_history(record(seed, 150), "r");
    ASSERT_TRUE(replay.ok()) << "seed " << seed << ": " << replay.status().message();
    ASSERT_EQ(replay->difference, "") << "seed " << seed;
    steps += replay->steps;
  }
  EXPECT_GE(steps, 30'000u);
}

TEST(Replay, AnotherRecordedActionIsADifferenceAtItsLine) {
  std::vector<std::string> lines = lines_of(record(7, 150));
  size_t edited = 0;
  for (size_t i = lines.size() / 2; i < lines.size() && edited == 0; ++i)
    if (replace(&lines[i], "\"grant ", "\"offer ")) edited = i + 1;
  ASSERT_GT(edited, 0u);
  const Result<Replay> replay = replay_history(text_of(lines), "r");
  ASSERT_TRUE(replay.ok()) << replay.status().message();
  EXPECT_TRUE(replay->difference.starts_with("r:" + std::to_string(edited) + ": recorded: offer "))
      << replay->difference;
  EXPECT_NE(replay->difference.find("decided now: grant "), std::string::npos) << replay->difference;
}

// How many of 40 records, edited so, are told from what they were; an edit may happen to change nothing.
template <class Edit>
size_t noticed(Edit&& edit) {
  size_t count = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    std::vector<std::string> lines = lines_of(record(seed, 150));
    edit(&lines);
    const Result<Replay> replay = replay_history(text_of(lines), "r");
    EXPECT_TRUE(replay.ok()) << replay.status().message();
    count += replay.ok() && !replay->difference.empty() ? 1 : 0;
  }
  return count;
}
size_t first_with(const std::vector<std::string>& lines, const std::string& part) {
  size_t at = lines.size() / 4;
  while (at + 1 < lines.size() && lines[at].find(part) == std::string::npos) ++at;
  return at;
}

TEST(Replay, AnotherOptionIsNoticed) {
  EXPECT_GE(noticed([](std::vector<std::string>* lines) {
              std::string& first = lines->front();
              const size_t at = first.find("\"settle\":");
              first.replace(at, first.find(',', at) - at, "\"settle\":777000");
            }),
            30u);
}

TEST(Replay, AnotherWordOfASlotIsNoticed) {
  EXPECT_GE(noticed([](std::vector<std::string>* lines) {
              for (std::string& line : *lines) {  // nobody leased it then; somebody does now
                const size_t words = line.find("\"words\":");
                const size_t at = words == std::string::npos ? words : line.find(",0,0]", words);
                if (at != std::string::npos) return void(line.replace(at, 5, ",0,1]"));
              }
            }),
            25u);
}

TEST(Replay, ALostLineIsNoticed) {
  EXPECT_GE(
      noticed([](std::vector<std::string>* lines) {
        lines->erase(lines->begin() + static_cast<std::ptrdiff_t>(first_with(*lines, "\"admission_sent\"")));
      }),
      20u);
}

TEST(Replay, AnAddedLineIsNoticed) {
  EXPECT_GE(noticed([](std::vector<std::string>* lines) {
              const size_t at = first_with(*lines, "\"do\":[\"grant");
              lines->insert(lines->begin() + static_cast<std::ptrdiff_t>(at), (*lines)[at]);
            }),
            20u);
}

TEST(Replay, ARecordMayEndAtAnyLineButNotWithinOne) {
  const std::vector<std::string> lines = lines_of(record(3, 60));
  const std::vector<std::string> half(lines.begin(), lines.begin() + 20);
  Result<Replay> replay = replay_history(text_of(half), "r");
  ASSERT_TRUE(replay.ok());
  EXPECT_EQ(replay->difference, "");
  EXPECT_EQ(replay->ended, "");
  replay = replay_history(text_of(half) + "{\"end\":\"full\"}\n", "r");
  ASSERT_TRUE(replay.ok());
  EXPECT_EQ(replay->ended, "full");
  const std::string cut = text_of(half);
  replay = replay_history(std::string_view(cut).substr(0, cut.size() - 5), "r");
  ASSERT_FALSE(replay.ok());
  EXPECT_NE(replay.status().message().find("r:20: the file ends in the middle of this line"),
            std::string::npos)
      << replay.status().message();
}

TEST(Replay, WhatIsNoHistoryIsNamedWithItsLine) {
  const std::string first = lines_of(record(3, 60))[0] + "\n";
  const std::string worker =
      R"({"worker":1,"layers":4,"ladder":[128],"seed_compile":[-1],"seed_load":[1000]})"
      "\n";
  const std::pair<std::string, const char*> cases[] = {
      {"", "r: is empty"},
      {"\x7f\x45\x4c\x46\n", "r:1: this is no record of a lane"},
      {"[]\n", "r:1: this is no record of a lane"},
      {"{\"a\":1}\n", "r:1: this is no record of a lane"},
      {"{\"anelane_history\":99}\n", "r:1: is of version 99; this build replays version 1"},
      {"{\"anelane_history\":1}\n", "r:1: \"options\" is no object"},
      {"{\"anelane_history\":1,\"options\":{\"settle\":-1}}\n", "r:1: \"settle\" is out of range"},
      {"{\"anelane_history\":1,\"options\":{\"settle\":9000000000000000000}}\n",
       "\"settle\" is out of range"},
      {"{\"anelane_history\":1,\"options\":{\"back_off\":1}}\n", "\"back_off\" is neither true nor false"},
      {"# A read-me", "r:1: this is no record of a lane"},
      {"{\"anelane_history\":1,", "r:1: the file ends in the middle of this line"},
      {"{\"anelane_history\":\n", "r:1: byte"},
      {first + "[]\n", "r:2: is no JSON object"},
      {first + "{\"x\":1}\n", "r:2: is no line of a history"},
      {first + "{\"worker\":2}\n", "\"layers\" is missing"},
      {first + "{\"worker\":1,\"layers\":4}\n", "\"ladder\" has no or too many rungs"},
      {first + "{\"worker\":1,\"layers\":4,\"ladder\":[-1]}\n", "\"ladder\" holds what is no shape"},
      {first + "{\"worker\":1,\"layers\":4,\"ladder\":[128]}\n", "\"seed_compile\" is not as long"},
      {first + worker + worker, "r:3: \"worker\" is not the next worker's number"},
      {first + worker + "{\"t\":5,\"ev\":\"jump\"}\n", "r:3: \"ev\" names no event: \"jump\""},
      {first + worker + "{\"ev\":\"timer\"}\n", "r:3: \"t\" is missing"},
      {first + worker + "{\"t\":5,\"ev\":\"timer\",\"worker\":\"A\"}\n", "\"worker\" is no whole number"},
      {first + worker + "{\"t\":5,\"ev\":\"stop\",\"code\":\"WELL\"}\n", "\"code\" names no status"},
      {first + worker + "{\"t\":5,\"ev\":\"timer\",\"hints\":[[1]]}\n", "\"hints\" holds what is no hint"},
      {first + "{\"end\":\"closed\"}\n" + worker, "r:3: lines follow the closing line"}};
  for (const auto& [text, part] : cases) {
    const Result<Replay> replay = replay_history(text, "r");
    ASSERT_FALSE(replay.ok()) << text;
    EXPECT_NE(replay.status().message().find(part), std::string::npos) << replay.status().message();
    EXPECT_EQ(replay.status().code(), Code::kInvalidArgument);
  }
}

// Whatever is written into a record, the replay says something about it and does no harm.
TEST(Replay, DamagedRecordsDoNoHarm) {
  const std::string whole = record(11, 80);
  Draws draws(1);
  size_t refused = 0, different = 0;
  for (int round = 0; round < 400; ++round) {
    std::string text = whole;
    for (uint64_t i = 0, n = 1 + draws.below(4); i < n; ++i)
      text[draws.below(text.size())] = static_cast<char>("0123456789{}[],:\"-e\n\xff"[draws.below(22)]);
    const Result<Replay> replay = replay_history(text, "r");
    refused += replay.ok() ? 0 : 1;
    different += replay.ok() && !replay->difference.empty() ? 1 : 0;
  }
  EXPECT_GT(refused, 50u);
  EXPECT_GT(different, 50u);
}

}  // namespace
}  // namespace anelane::sim
