// anelane.hpp as a C++ host uses it: owners that give back exactly once, errors as values, callables that
// come exactly once. Sees the public headers and libanelane.so only; the model is a tiny checkpoint. After
// each test nothing is left: no child, no descriptor, no thread of the library.
#include <dirent.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <anelane.hpp>
#include <array>
#include <atomic>
#include <cmath>
#include <fstream>
#include <memory>
#include <sstream>
#include <thread>
#include <vector>

#include "abi/fixtures.h"

namespace {

using namespace anelane;
using namespace std::chrono_literals;

constexpr auto kBound = 240s;  // against hanging only

size_t entries(const std::string& folder) {
  size_t count = 0;
  DIR* dir = ::opendir(folder.c_str());
  while (dir != nullptr && ::readdir(dir) != nullptr) count++;
  if (dir != nullptr) ::closedir(dir);
  return count;
}

std::string children() {
  std::ostringstream all;
  DIR* tasks = ::opendir("/proc/self/task");
  while (const dirent* task = tasks != nullptr ? ::readdir(tasks) : nullptr)
    all << std::ifstream("/proc/self/task/" + std::string(task->d_name) + "/children").rdbuf();
  if (tasks != nullptr) ::closedir(tasks);
  return all.str();
}

uint64_t resident_bytes() {
  uint64_t size = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return resident * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

// What must be as it was: children, descriptors, threads.
struct Inventory {
  std::string children = ::children();
  size_t descriptors = entries("/proc/self/fd"), threads = entries("/proc/self/task");
  bool operator==(const Inventory& o) const {
    return children == o.children && descriptors == o.descriptors && threads == o.threads;
  }
};

std::string said(const Error& error) {
  char text[1024];
  error.text(text, sizeof text);
  return text;
}
#define ASSERT_OK(result) ASSERT_TRUE((result).ok()) << said((result).error())
#define EXPECT_OK(result) EXPECT_TRUE((result).ok()) << said((result).error())

class Cpp : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    char path[] = "/tmp/anelane-cpp-XXXXXX";
    ASSERT_NE(::mkdtemp(path), nullptr);
    folder_ = path;
    write_tiny((folder_ + "/tiny").c_str(), nullptr);
    // The first thread of a program may bring one of a sanitizer's own.
    std::thread([] {}).join();
  }
  static void TearDownTestSuite() { ASSERT_EQ(std::system(("rm -rf " + folder_).c_str()), 0); }
  void SetUp() override { before_ = Inventory(); }
  void TearDown() override {
    // The kernel may be a moment behind.
    for (int i = 0; i < 200 && !(Inventory() == before_); i++) std::this_thread::sleep_for(10ms);
    const Inventory after;
    EXPECT_EQ(after.children, before_.children);
    EXPECT_EQ(after.descriptors, before_.descriptors);
    EXPECT_EQ(after.threads, before_.threads);
  }
  static std::string tiny() { return folder_ + "/tiny"; }
  static Result<Lane> open(LaneOptions options = {}) {
    static const std::string lock = folder_ + "/lane";
    options.engine = ANELANE_ENGINE_SOFT;
    options.lock_dir = lock.c_str();
    return Lane::open(options, kBound);
  }
  static Model load(const Lane& lane) {
    Result<Model> model = lane.load(tiny(), kBound);
    EXPECT_OK(model);
    return std::move(*model);
  }

  static std::string folder_;
  Inventory before_;
};
std::string Cpp::folder_;

TEST_F(Cpp, AnEmbedGivesTheBitsOfTheCInterface) {
  Result<Lane> lane = open();
  ASSERT_OK(lane);
  const Model model = load(*lane);
  const char* const texts[] = {"the first", "", "and a third one"};
  float expected[3][TINY_DIM];
  ASSERT_EQ(anelane_embed_texts(model.raw(), texts, 3, expected[0], 0, nullptr, ANELANE_NO_DEADLINE, nullptr),
            ANELANE_OK);
  const auto same = [&](const Result<Vectors>& vectors) {
    return vectors && vectors->rows() == 3 && vectors->dim() == TINY_DIM &&
           std::memcmp((*vectors)[0].data(), expected, sizeof expected) == 0;
  };
  // Every way to have texts.
  const std::vector<std::string> strings(std::begin(texts), std::end(texts));
  const std::vector<std::string_view> views(strings.begin(), strings.end());
  const std::vector<const char*> pointers(std::begin(texts), std::end(texts));
  const std::array<std::string_view, 3> array{texts[0], texts[1], texts[2]};
  EXPECT_TRUE(same(model.embed_texts(texts, kBound)));
  EXPECT_TRUE(same(model.embed_texts(strings, kBound)));
  EXPECT_TRUE(same(model.embed_texts(views, kBound)));
  EXPECT_TRUE(same(model.embed_texts(pointers, kBound)));
  EXPECT_TRUE(same(model.embed_texts(array, kBound)));
  EXPECT_TRUE(same(model.embed_texts({"the first", "", "and a third one"}, kBound)));
  // A view that ends in the middle of a text.
  const Result<Vectors> one = model.embed_texts(std::string_view("the first and more").substr(0, 9), kBound);
  ASSERT_OK(one);
  EXPECT_EQ(std::memcmp((*one)[0].data(), expected[0], sizeof expected[0]), 0);
  // More than fit into the pointers on the stack.
  const Result<Vectors> many = model.embed_texts(std::vector<std::string_view>(50, "the first"), kBound);
  ASSERT_OK(many);
  EXPECT_EQ(std::memcmp((*many)[49].data(), expected[0], sizeof expected[0]), 0);

  float rows[3][TINY_DIM + 3];
  anelane_status statuses[3] = {-1, -1, -1};
  const Span<float> room(rows[0], 2 * (TINY_DIM + 3) + TINY_DIM);
  ASSERT_OK(model.embed_texts_into(room, strings, kBound, TINY_DIM + 3, statuses));
  for (int i = 0; i < 3; i++) {
    EXPECT_EQ(statuses[i], ANELANE_OK);
    EXPECT_EQ(std::memcmp(rows[i], expected[i], sizeof expected[i]), 0);
  }

  const Result<Tokenizer> tokenizer = Tokenizer::load(tiny());
  ASSERT_OK(tokenizer);
  std::int32_t ids[64];
  const Result<size_t> count = tokenizer->tokenize("the first", ids);
  ASSERT_OK(count);
  const anelane_tokens items[] = {tokens({ids, *count})};
  const Result<Vectors> of_ids = model.embed(items, kBound);
  ASSERT_OK(of_ids);
  EXPECT_EQ(std::memcmp((*of_ids)[0].data(), expected[0], sizeof expected[0]), 0);
}

TEST_F(Cpp, ErrorsTellAllTheirFields) {
  Result<Lane> lane = open();
  ASSERT_OK(lane);
  const Result<Model> none = lane->load(tiny() + "/nothing", kBound);
  EXPECT_FALSE(none);
  EXPECT_FALSE(*none);  // a null model
  EXPECT_NE(none.error().message().find("nothing"), std::string_view::npos);
  EXPECT_FALSE(none.error().transient());
  EXPECT_EQ(none.error().retry_after(), std::nullopt);
  EXPECT_EQ(none.error().item(), std::nullopt);

  const Model model = load(*lane);
  const std::vector<std::int32_t> short_ids(8, 1), long_ids(TINY_CEILING + 1, 1);
  const anelane_tokens items[] = {tokens(short_ids), tokens(long_ids)};
  const Result<Vectors> too_long = model.embed(items, kBound);
  EXPECT_EQ(too_long.status(), ANELANE_SEQUENCE_TOO_LONG);
  EXPECT_STREQ(too_long.error().name(), "SEQUENCE_TOO_LONG");
  EXPECT_EQ(too_long.error().item(), 1u);
  EXPECT_EQ(too_long.error().limit(), static_cast<uint64_t>(TINY_CEILING));
  EXPECT_EQ(too_long.error().model(), "tiny");

  const Result<> cannot_wait = model.admit(256, Deadline::now());
  EXPECT_EQ(cannot_wait.status(), ANELANE_SHAPE_COMPILING) << said(cannot_wait.error());
  EXPECT_TRUE(cannot_wait.error().transient());
  EXPECT_TRUE(cannot_wait.error().safe_to_retry());
  ASSERT_TRUE(cannot_wait.error().retry_after().has_value());
  EXPECT_GT(*cannot_wait.error().retry_after(), 0ms);
  EXPECT_EQ(cannot_wait.error().shape(), 256u);

  // All that the C interface can say.
  anelane_error raw{};
  raw.struct_size = sizeof raw;
  raw.status = ANELANE_LANE_BUSY;
  raw.error_class = ANELANE_TRANSIENT;
  raw.item = -1;
  raw.holder_pid = 99;
  raw.lane_id = 5;
  std::memset(raw.model, 'm', sizeof raw.model);  // without NUL
  const Error busy(raw);
  EXPECT_EQ(busy.holder_pid(), 99u);
  EXPECT_EQ(busy.lane_id(), 5u);
  EXPECT_EQ(busy.model(), std::string(sizeof raw.model, 'm'));
  EXPECT_EQ(busy.message(), "");
  EXPECT_EQ(busy.raw().struct_size, sizeof raw);
  EXPECT_EQ(said(busy).find("LANE_BUSY"), 0u);

  // What only this header can see.
  const Result<Vectors> no_memory = model.embed(Span<const anelane_tokens>(items, SIZE_MAX / 8), kBound);
  EXPECT_EQ(no_memory.status(), ANELANE_OUT_OF_MEMORY);
  EXPECT_TRUE(no_memory.error().transient() && no_memory.error().safe_to_retry());
  const char* const no_text = nullptr;
  EXPECT_EQ(model.embed_texts(no_text, kBound).status(), ANELANE_INVALID_ARGUMENT);
  float small[2 * TINY_DIM - 1];
  const Result<> no_room = model.embed_texts_into(small, {"a", "b"}, kBound);
  EXPECT_EQ(no_room.status(), ANELANE_INVALID_ARGUMENT);
  EXPECT_EQ(no_room.error().limit(), 2u * TINY_DIM);
  float fits[2 * TINY_DIM];
  EXPECT_OK(model.embed_texts_into(fits, {"a", "b"}, kBound));
  EXPECT_EQ(model.embed_texts_into(fits, {"a", "b"}, kBound, SIZE_MAX / 2).status(),
            ANELANE_INVALID_ARGUMENT);
  EXPECT_EQ(model.embed_texts_into(Span<float>(), "a", kBound).status(), ANELANE_INVALID_ARGUMENT);
  anelane_status one_status[1];
  EXPECT_EQ(model.embed_texts_into(fits, {"a", "b"}, kBound, 0, one_status).status(),
            ANELANE_INVALID_ARGUMENT);
  const std::string with_nul("ab\0c", 4);
  for (const Result<Vectors>& refused : {model.embed_texts(std::vector<std::string>{"a", with_nul}, kBound),
                                         model.embed_texts({"a", std::string_view(with_nul)}, kBound)}) {
    EXPECT_EQ(refused.status(), ANELANE_INVALID_ARGUMENT);
    EXPECT_EQ(refused.error().item(), 1u);
    EXPECT_EQ(refused.error().limit(), 2u);
  }
}

TEST_F(Cpp, NullAndGivenBackAnswerACodeAndNothingIsGivenBackTwice) {
  Lane no_lane;
  EXPECT_EQ(no_lane.close().status(), ANELANE_BAD_HANDLE);
  EXPECT_EQ(no_lane.load("x").status(), ANELANE_BAD_HANDLE);
  Model no_model;
  EXPECT_EQ(no_model.embed_texts("a").status(), ANELANE_BAD_HANDLE);
  float out[1];
  EXPECT_EQ(no_model.embed_texts_into(out, "a").status(), ANELANE_BAD_HANDLE);
  EXPECT_EQ(no_model.retire().status(), ANELANE_BAD_HANDLE);
  EXPECT_EQ(Lease().map(0).status(), ANELANE_BAD_HANDLE);
  EXPECT_EQ(Operation().wait(kBound).status(), ANELANE_BAD_HANDLE);
  EXPECT_EQ(Tokenizer().tokenize("a", {}).status(), ANELANE_BAD_HANDLE);
  Pending().cancel();

  Result<Lane> lane = open();
  ASSERT_OK(lane);
  Model model = load(*lane);
  Result<Lease> lease = model.lease(128, kBound);
  ASSERT_OK(lease);
  Lease moved = std::move(*lease);
  EXPECT_FALSE(*lease);
  Lease& same = moved;
  moved = std::move(same);
  EXPECT_TRUE(moved);
  EXPECT_EQ(lane->stats()->leased, 1u);
  // A second lease of the shape must not be hurt by giving the first back twice.
  Result<Lease> second = model.lease(128, kBound);
  ASSERT_OK(second);
  const Lease stale = Lease::adopt(moved.raw());  // gives it back once more at the end
  moved.release();
  moved.release();
  EXPECT_EQ(lane->stats()->leased, 1u);
  EXPECT_OK(second->map(0));

  second->release();  // retirement would wait for it
  Model other = std::move(model);
  EXPECT_EQ(model.embed_texts("a", kBound).status(), ANELANE_BAD_HANDLE);  // NOLINT
  EXPECT_OK(other.embed_texts("a", kBound));
  EXPECT_OK(other.retire(kBound));
  EXPECT_OK(other.retire(kBound));
  EXPECT_EQ(other.embed_texts("a", kBound).status(), ANELANE_RETIRED);
  EXPECT_OK(lane->close(kBound));
  EXPECT_EQ(lane->close(kBound).status(), ANELANE_BAD_HANDLE);
  EXPECT_EQ(lane->load(tiny(), kBound).status(), ANELANE_BAD_HANDLE);
}

TEST_F(Cpp, WhateverIsUsedAfterTheCloseAnswersACode) {
  Result<Lane> lane = open();
  ASSERT_OK(lane);
  Model model = load(*lane);
  const Result<Lease> lease = model.lease(128, kBound);
  ASSERT_OK(lease);
  const Result<Operation> op = model.start_embed_texts("a text", kBound);
  ASSERT_OK(op);
  const Result<Tokenizer> tokenizer = Tokenizer::load(tiny());
  ASSERT_OK(tokenizer);
  const anelane_lane raw = lane->raw();
  ASSERT_OK(lane->close(kBound));
  const Lane stale = Lane::adopt(raw);
  const auto done = [](Ended&) noexcept {};
  anelane_port ports[1];
  float out[TINY_DIM];
  const std::vector<std::int32_t> ids(3, 1);
  const anelane_tokens items[] = {tokens(ids)};
  const anelane_status answers[] = {
      stale.stats().status(),
      stale.describe().status(),
      stale.load(tiny(), kBound).status(),
      stale.load_program({}, {}, kBound).status(),
      stale.start_load(tiny(), {}, kBound).status(),
      stale.load_async(tiny(), {}, kBound, done).status(),
      stale.event_fd().status(),
      stale.next_completion().status(),
      model.info().status(),
      model.ports(128, ports).status(),
      model.predict(128).status(),
      model.admit(128, kBound).status(),
      model.lease(128, kBound).status(),
      model.embed(items, kBound).status(),
      model.embed_texts("a", kBound).status(),
      model.embed_into(out, items, kBound).status(),
      model.embed_texts_into(out, "a", kBound).status(),
      model.start_embed(items, kBound).status(),
      model.start_embed_texts("a", kBound).status(),
      model.start_lease(128, kBound).status(),
      model.embed_async(items, kBound, done).status(),
      model.embed_texts_async("a", kBound, done).status(),
      model.lease_async(128, kBound, done).status(),
      model.retire_async(kBound, done).status(),
      model.retire(kBound).status(),
      lease->map(0).status(),
      lease->run({}, {}, kBound).status(),
      lease->start_run({}, kBound).status(),
      lease->run_async({}, kBound, done).status(),
      op->vectors().status(),
      op->wait(kBound).status(),
  };
  for (size_t i = 0; i < std::size(answers); i++) {
    const anelane_status a = answers[i];
    EXPECT_TRUE(a == ANELANE_CLOSED || a == ANELANE_BAD_HANDLE || a == ANELANE_LEASE_EXPIRED)
        << "call " << i << ": " << anelane_status_name(a);
  }
  op->cancel();
  std::int32_t few[8];
  EXPECT_OK(tokenizer->tokenize("a", few));  // which is no lane's
}

// Drops lane, model, lease and two operations in every order.
TEST_F(Cpp, APathIsNeverCutAtNul) {
  const std::string cut = tiny() + std::string("\0rest", 5);  // its beginning is a model's path
  Result<Lane> lane = open();
  ASSERT_OK(lane);
  bool called = false;
  const Error refused[] = {
      Model::inspect(cut).error(),
      Tokenizer::load(cut).error(),
      lane->load(cut, kBound).error(),
      lane->start_load(cut, {}, kBound).error(),
      lane->load_async(cut, {}, kBound, [&called](Ended&) noexcept { called = true; }).error(),
  };
  for (const Error& error : refused) {
    EXPECT_EQ(error.status(), ANELANE_INVALID_ARGUMENT);
    EXPECT_NE(error.message().find("NUL"), std::string_view::npos) << said(error);
  }
  EXPECT_EQ(lane->stats()->models, 0u);
  EXPECT_FALSE(called);
  ASSERT_OK(lane->close(kBound));
}

TEST_F(Cpp, OwnersMayGoInAnyOrder) {
  std::array<int, 5> order{0, 1, 2, 3, 4};
  int orders = 0;
  do {
    Result<Lane> lane = open();
    ASSERT_OK(lane);
    Model model = load(*lane);
    Result<Lease> lease = model.lease(128, kBound);
    ASSERT_OK(lease);
    Result<Operation> ended = model.start_embed_texts("a text", kBound);
    ASSERT_OK(ended);
    ASSERT_OK(ended->wait(kBound));
    Result<Operation> running = model.start_embed_texts("another text", kBound);
    ASSERT_OK(running);
    for (const int which : order) {
      if (which == 0) *lane = Lane();
      if (which == 1) model = Model();
      if (which == 2) *lease = Lease();
      if (which == 3) *ended = Operation();
      if (which == 4) *running = Operation();
    }
  } while (++orders < 120 && std::next_permutation(order.begin(), order.end()));
  EXPECT_EQ(orders, 120);
}

// A callable that counts its calls and its own lives.
struct Counted {
  std::atomic<int> calls{0}, ok{0}, cancelled{0}, closed{0}, wrong{0};
  std::shared_ptr<int> life = std::make_shared<int>(0);
  auto callable() {
    return [this, kept = life](Ended& ended) noexcept {
      const Result<VectorsView> vectors = ended.vectors();
      if (ended.status() != ended.error().status()) wrong++;
      if (ended.ok()) {
        ok++;
        if (!vectors || vectors->rows() != 1 || vectors->dim() != TINY_DIM) wrong++;
      } else if (ended.status() == ANELANE_CANCELLED) {
        cancelled++;
      } else if (ended.status() == ANELANE_CLOSED) {
        closed++;
      } else {
        wrong++;
      }
      calls++;
    };
  }
};

TEST_F(Cpp, ACallableComesExactlyOnceWheneverItIsCancelled) {
  constexpr int kRounds = 2000;
  Result<Lane> lane = open();
  ASSERT_OK(lane);
  const Model model = load(*lane);
  ASSERT_OK(model.admit(128, kBound));
  Counted counted;
  std::vector<Pending> all;
  std::uint64_t random = 1;
  for (int i = 0; i < kRounds; i++) {
    const Result<Pending> pending = model.embed_texts_async("some text", kBound, counted.callable());
    ASSERT_OK(pending);
    random = random * 6364136223846793005u + 1442695040888963407u;
    for (std::uint64_t spin = random >> 50; spin > 0; spin--)
      std::atomic_signal_fence(std::memory_order_seq_cst);
    if (i % 4 != 0) pending->cancel();
    all.push_back(*pending);
  }
  for (int i = 0; i < 20000 && counted.calls < kRounds; i++) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(counted.closed, 0);
  // And some that the close of the lane ends.
  for (int i = 0; i < kRounds; i++) {
    const Result<Pending> pending = model.embed_texts_async("some text", kBound, counted.callable());
    ASSERT_OK(pending);
    all.push_back(*pending);
  }
  ASSERT_OK(lane->close(kBound));                       // returns after the last callable
  for (const Pending& pending : all) pending.cancel();  // of a lane that is gone
  EXPECT_EQ(counted.calls, 2 * kRounds);
  EXPECT_EQ(counted.wrong, 0);
  EXPECT_EQ(counted.life.use_count(), 1);  // every callable was dropped
  EXPECT_GT(counted.ok, 0);
  EXPECT_GT(counted.cancelled, 0);
  std::printf("%d ended well, %d were cancelled, %d closed\n", counted.ok.load(), counted.cancelled.load(),
              counted.closed.load());
}

// There is room for one shape, and a lease has it: whatever waits for another is there to be cancelled; more
// than go to the library in one call.
TEST_F(Cpp, ManyAreCancelledAtOnce) {
  LaneOptions options;
  options.shapes_total = 1;
  Result<Lane> lane = open(options);
  ASSERT_OK(lane);
  const Model model = load(*lane);
  const Result<Lease> lease = model.lease(128, kBound);
  ASSERT_OK(lease);
  const std::vector<std::int32_t> ids(200, 1);
  const anelane_tokens items[] = {tokens(ids)};
  constexpr size_t kMany = 300;
  Counted counted;
  std::vector<Pending> pending;
  std::vector<Operation> owned;
  std::vector<OperationRef> refs;
  for (size_t i = 0; i < kMany; i++) {
    const Result<Pending> one = model.embed_async(items, kBound, counted.callable());
    ASSERT_OK(one);
    pending.push_back(*one);
    Result<Operation> other = model.start_lease(256, kBound);
    ASSERT_OK(other);
    if (i % 2 != 0) refs.emplace_back(other->raw());
    owned.push_back(std::move(*other));
  }
  const auto ended_within = [](const Operation& op, auto time) { return op.wait(time).status(); };
  EXPECT_EQ(ended_within(owned[0], 20ms), ANELANE_PENDING);
  cancel_all(pending);
  cancel_all(refs);
  EXPECT_EQ(ended_within(owned[1], kBound), ANELANE_CANCELLED);  // one of the refs
  EXPECT_EQ(ended_within(owned[0], 20ms), ANELANE_PENDING);      // none of them
  cancel_all(owned);
  cancel_all(Span<const Pending>());
  for (const Operation& op : owned) EXPECT_EQ(ended_within(op, kBound), ANELANE_CANCELLED);
  for (int i = 0; i < 20000 && counted.calls < static_cast<int>(kMany); i++) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(counted.cancelled, static_cast<int>(kMany));
  EXPECT_EQ(counted.wrong, 0);
}

TEST_F(Cpp, ProgressComesToACallable) {
  struct Told {
    std::vector<Progress> all;
    std::atomic<size_t> count{0};
    void operator()(const Progress& now) noexcept {
      all.push_back(now);
      count++;
    }
  } told;
  Result<Lane> lane = open();
  ASSERT_OK(lane);
  const Result<Model> model = lane->load(tiny(), ModelOptions().report_to(told), kBound);
  ASSERT_OK(model);
  ASSERT_OK(model->admit(128, kBound));
  const Result<anelane_model_info> info = model->info();
  ASSERT_OK(info);
  for (int i = 0; i < 20000 && told.count < info->layers; i++) std::this_thread::sleep_for(1ms);
  ASSERT_OK(lane->close(kBound));  // after which none comes
  ASSERT_EQ(told.all.size(), info->layers);
  for (std::uint32_t i = 0; i < info->layers; i++) {
    EXPECT_EQ(told.all[i].shape, 128u);
    EXPECT_EQ(told.all[i].layer, i + 1);
    EXPECT_EQ(told.all[i].layers, info->layers);
    EXPECT_TRUE(!told.all[i].left || *told.all[i].left > 0ms);
  }
}

// In a process of its own, as the log is set before the first lane.
TEST(CppLogDeathTest, LinesComeToACallableUntilTheFirstLaneOnly) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto in_a_child = [] {
    char folder[] = "/tmp/anelane-cpp-log-XXXXXX";
    if (::mkdtemp(folder) == nullptr) return 1;
    auto lines = std::make_shared<std::atomic<int>>(0);
    const auto count = [lines](anelane_log_level level, std::string_view line) noexcept {
      if (level >= ANELANE_LOG_INFO && !line.empty()) (*lines)++;
    };
    if (set_log(count, 99).status() != ANELANE_INVALID_ARGUMENT || lines.use_count() != 2) return 2;
    if (!set_log(nullptr) || !set_log(count)) return 3;
    LaneOptions options;
    options.engine = ANELANE_ENGINE_SOFT;
    options.lock_dir = folder;
    const std::string model = std::string(folder) + "/tiny";
    write_tiny(model.c_str(), nullptr);
    {
      const Result<Lane> lane = Lane::open(options, kBound);
      if (!lane || !lane->load(model, kBound) || *lines == 0) return 4;
      const Result<> late = set_log(count);
      if (late.status() != ANELANE_INVALID_ARGUMENT || lines.use_count() != 3) return 5;
      if (late.error().message().find("first lane") == std::string_view::npos) return 6;
      if (set_log(nullptr).ok()) return 7;
    }
    return std::system((std::string("rm -rf ") + folder).c_str()) == 0 ? 0 : 8;
  };
  EXPECT_EXIT(std::_Exit(in_a_child()), testing::ExitedWithCode(0), "");
}

TEST_F(Cpp, ARefusedCallableNeverComesAndIsDropped) {
  Counted counted;
  EXPECT_EQ(Model().embed_texts_async("a", kBound, counted.callable()).status(), ANELANE_BAD_HANDLE);
  EXPECT_EQ(Model().embed_texts_async(std::string("a\0b", 3), kBound, counted.callable()).status(),
            ANELANE_INVALID_ARGUMENT);
  EXPECT_EQ(Lane().load_async("x", {}, kBound, counted.callable()).status(), ANELANE_BAD_HANDLE);
  EXPECT_EQ(counted.calls, 0);
  EXPECT_EQ(counted.life.use_count(), 1);
}

TEST_F(Cpp, ModelsAndLeasesCanBeTakenInACallableAndDroppedThere) {
  Result<Lane> lane = open();
  ASSERT_OK(lane);
  std::atomic<int> step{0};
  Model loaded;
  anelane_status closed = -1;
  ASSERT_OK(lane->load_async(tiny(), {}, kBound, [&](Ended& ended) noexcept {
    Result<Model> model = ended.take_model();
    loaded = std::move(*model);
    closed = lane->close(kBound).status();  // refused, and the lane stays open
    step = 1;
  }));
  while (step < 1) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(closed, ANELANE_WRONG_THREAD);
  EXPECT_OK(loaded.embed_texts("a", kBound));
  ASSERT_OK(loaded.lease_async(128, kBound, [&](Ended& ended) noexcept {
    const Result<Lease> lease = ended.take_lease();
    step = lease ? 2 : -2;
  }));
  while (step == 1) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(step, 2);
  EXPECT_EQ(lane->stats()->leased, 0u);
  // The last owner of a model goes on the completion thread, where nothing may block.
  ASSERT_OK(load(*lane).embed_texts_async(
      "a", kBound, [&, last = std::move(loaded)](Ended& ended) mutable noexcept {
        last = Model();
        step = ended.status() == ANELANE_OK || ended.status() == ANELANE_RETIRED ? 3 : -3;
      }));
  while (step == 2) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(step, 3);
  for (int i = 0; i < 20000 && lane->stats()->models > 0; i++) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(lane->stats()->models, 0u);
  step = 0;
  Model model = load(*lane);
  ASSERT_OK(model.retire_async(kBound, [&](Ended& ended) noexcept { step = ended.ok() ? 1 : -1; }));
  while (step == 0) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(step, 1);
}

TEST_F(Cpp, AnEventLoopGetsWhatWasStartedWithoutACallable) {
  Result<Lane> lane = open();
  ASSERT_OK(lane);
  const Model model = load(*lane);
  const Result<int> fd = lane->event_fd();
  ASSERT_OK(fd);
  EXPECT_GE(*fd, 0);
  EXPECT_EQ(lane->next_completion().status(), ANELANE_PENDING);
  int tag = 0;
  Result<Operation> op = model.start_embed_texts("a", kBound, &tag);
  ASSERT_OK(op);
  ASSERT_OK(op->wait(kBound));
  Result<Lane::Completion> done = lane->next_completion();
  for (int i = 0; i < 20000 && done.status() == ANELANE_PENDING; i++) {
    std::this_thread::sleep_for(1ms);
    done = lane->next_completion();
  }
  ASSERT_OK(done);
  EXPECT_EQ(done->user, &tag);
  const Result<VectorsView> vectors = done->operation.vectors();
  ASSERT_OK(vectors);
  EXPECT_EQ((*vectors)[0].size(), static_cast<size_t>(TINY_DIM));
  const OperationRef ref = op->ref();
  op->release();
  op->release();
  EXPECT_EQ(ref.vectors().status(), ANELANE_BAD_HANDLE);
  // Dropped before its end: nobody finds it in the queue.
  *op = Operation();
  { const Result<Operation> dropped = model.start_embed_texts("b", kBound, &tag); }
  ASSERT_OK(model.embed_texts("c", kBound));
  EXPECT_EQ(lane->next_completion().status(), ANELANE_PENDING);
  Result<Operation> loading = lane->start_load(tiny(), {}, kBound);
  ASSERT_OK(loading);
  ASSERT_OK(loading->wait(kBound));
  EXPECT_OK(loading->take_model());
  Result<Operation> leasing = model.start_lease(128, kBound);
  ASSERT_OK(leasing);
  ASSERT_OK(leasing->wait(kBound));
  EXPECT_OK(leasing->take_lease());
}

TEST_F(Cpp, ARunOnOnesOwnTensors) {
  Result<Lane> lane = open();
  ASSERT_OK(lane);
  const Model model = load(*lane);
  anelane_port ports[8];
  const Result<size_t> count = model.ports(128, ports);
  ASSERT_OK(count);
  ASSERT_EQ(*count, 3u);
  std::vector<std::vector<std::uint16_t>> data;
  std::vector<anelane_tensor> tensors;
  for (std::uint32_t i = 0; i < *count; i++) {
    data.emplace_back(ports[i].bytes / 2, i == 0 ? 0x3800 : 0);  // 0.5 as fp16
    tensors.push_back({data[i].data(), ports[i].bytes, i, 0});
  }
  Result<Lease> lease = model.lease(128, kBound);
  ASSERT_OK(lease);
  const Span<const anelane_tensor> in(tensors.data(), 2), out(tensors.data() + 2, 1);
  ASSERT_OK(lease->run(in, out, kBound));
  const auto as_run = [&](const Result<Span<const unsigned char>>& bytes) {
    return bytes && bytes->size() == ports[2].bytes &&
           std::memcmp(bytes->data(), data[2].data(), bytes->size()) == 0;
  };
  Result<Operation> op = lease->start_run(in, kBound);
  ASSERT_OK(op);
  ASSERT_OK(op->wait(kBound));
  EXPECT_TRUE(as_run(op->output(2)));
  std::atomic<int> same{-1};
  ASSERT_OK(lease->run_async(in, kBound, [&](Ended& ended) noexcept { same = as_run(ended.output(2)); }));
  while (same < 0) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(same, 1);
  EXPECT_OK(lease->map(0));
  EXPECT_EQ(*model.predict(128), 0ms);
}

TEST_F(Cpp, WhatALaneSaysOfItself) {
  Result<Lane> lane = open();
  ASSERT_OK(lane);
  const Model model = load(*lane);
  const Result<Text> described = lane->describe();
  ASSERT_OK(described);
  EXPECT_EQ(described->view().front(), '{');
  EXPECT_EQ(described->view().size(), std::strlen(described->c_str()));
  EXPECT_NE(described->view().find("tiny"), std::string_view::npos);
  const std::string lock = folder_ + "/lane";
  EXPECT_OK(Lane::peek(lock.c_str()));
  const Result<anelane_holder> holder = Lane::holder(lock.c_str());
  ASSERT_OK(holder);
  EXPECT_EQ(holder->pid, static_cast<uint32_t>(::getpid()));
  const Result<anelane_model_info> info = Model::inspect(tiny());
  ASSERT_OK(info);
  EXPECT_EQ(info->dim, static_cast<uint32_t>(TINY_DIM));
  EXPECT_TRUE(abi_fits());
  EXPECT_NE(version()[0], 0);
  // A text that grows each time it is read is given up, not read for ever.
  std::size_t reads = 0;
  const Result<Text> endless = Text::from([&](char*, std::size_t, std::size_t* len, anelane_error*) noexcept {
    *len = 100 * ++reads;
    return static_cast<anelane_status>(ANELANE_OK);
  });
  EXPECT_EQ(endless.status(), ANELANE_INTERNAL);
}

TEST(CppDeadline, TurnsDurationsIntoTheLibrarysClock) {
  EXPECT_EQ(Deadline::none().ns(), ANELANE_NO_DEADLINE);
  EXPECT_EQ(Deadline::now().ns(), 0u);
  EXPECT_EQ(Deadline(0s).ns(), 0u);
  EXPECT_EQ(Deadline(-5h).ns(), 0u);
  EXPECT_EQ(Deadline(std::chrono::hours::max()).ns(), ANELANE_NO_DEADLINE);
  EXPECT_EQ(Deadline(std::chrono::duration<double>(1e300)).ns(), ANELANE_NO_DEADLINE);
  EXPECT_EQ(Deadline(std::chrono::duration<double>(std::nan(""))).ns(), 0u);
  const std::uint64_t before = anelane_now_ns();
  const std::uint64_t in_an_hour = Deadline(1h).ns();
  EXPECT_GE(in_an_hour, before + 3'600'000'000'000u);
  EXPECT_LE(in_an_hour, anelane_now_ns() + 3'600'000'000'000u);
  EXPECT_EQ(Deadline::at_ns(7).ns(), 7u);
}

// 10,000 of every kind; under LeakSanitizer nothing is lost, and elsewhere memory and descriptors stay flat.
TEST_F(Cpp, TenThousandOperationsLeaveNothing) {
  constexpr int kOperations = 10000, kWarm = 1000;
  Result<Lane> lane = open();
  ASSERT_OK(lane);
  const Model model = load(*lane);
  ASSERT_OK(model.admit(128, kBound));
  Counted counted;
  std::uint64_t bytes = 0;
  size_t descriptors = 0;
  for (int i = 0; i < kOperations; i++) {
    if (i == kWarm) {
      bytes = resident_bytes();
      descriptors = entries("/proc/self/fd");
    }
    switch (i % 5) {
      case 0:
        ASSERT_OK(model.embed_texts("text", kBound));
        break;
      case 1:
        ASSERT_OK(model.lease(128, kBound));
        break;
      case 2: {
        const Result<Operation> op = model.start_embed_texts("text", kBound);
        ASSERT_OK(op);
        if (i % 2 == 0) {
          ASSERT_OK(op->wait(kBound));
        }
        break;
      }
      case 3:
        ASSERT_OK(model.embed_texts_async("text", kBound, counted.callable()));
        break;
      default:
        ASSERT_EQ(model.lease(77, kBound).status(), ANELANE_SHAPE_UNKNOWN);
    }
  }
  for (int i = 0; i < 20000 && counted.calls < kOperations / 5; i++) std::this_thread::sleep_for(1ms);
  const std::uint64_t grown = resident_bytes() - std::min(bytes, resident_bytes());
  EXPECT_EQ(entries("/proc/self/fd"), descriptors);
  ASSERT_OK(lane->close(kBound));
  EXPECT_EQ(counted.calls, kOperations / 5);
  EXPECT_EQ(counted.wrong, 0);
  EXPECT_EQ(counted.life.use_count(), 1);
#if !defined(__SANITIZE_ADDRESS__)  // its quarantine grows on purpose
  EXPECT_LT(grown, 16u << 20);
#endif
  std::printf("%d operations, %llu KiB more\n", kOperations, static_cast<unsigned long long>(grown >> 10));
}

// The caller's own program, from memory: checked, loaded, run.
TEST_F(Cpp, AProgramFromMemoryIsCheckedLoadedAndRun) {
  const std::string text =
      "program(1.3)\n[buildInfo = dict<string, string>({})]\n{\n"
      "    func main<ios18>(tensor<fp16, [1, 64]> x) {\n"
      "        tensor<fp16, [1, 64]> y = add(x = x, y = x)[name = string(\"y\")];\n    } -> (y);\n}\n";
  const std::string path = folder_ + "/twice.mil";
  std::ofstream(path) << text;
  const Result<Text> told = mil_check(path.c_str());
  ASSERT_OK(told);
  EXPECT_NE(told->view().find("\"operations\":{\"add\":1}"), std::string_view::npos) << told->c_str();
  EXPECT_EQ(mil_check((folder_ + "/none").c_str()).status(), ANELANE_IO);

  const Result<Lane> lane = open();
  ASSERT_OK(lane);
  anelane_layer layer{};
  layer.mil = text.data();
  layer.mil_bytes = text.size();
  const anelane_program_rung rung = {7, 1, &layer};
  const Result<Model> model = lane->load_program({&rung, 1}, {}, kBound);
  ASSERT_OK(model);
  const Result<Lease> lease = model->lease(7, kBound);
  ASSERT_OK(lease);
  std::vector<uint16_t> x(64, 0x3c00), y(64);  // 1 in fp16
  const anelane_tensor in = {x.data(), 128, 0, 0}, out = {y.data(), 128, 1, 0};
  ASSERT_OK(lease->run({&in, 1}, {&out, 1}, kBound));
  EXPECT_EQ(y, std::vector<uint16_t>(64, 0x4000));  // 2
  EXPECT_EQ(lane->load_program({}, {}, kBound).status(), ANELANE_INVALID_ARGUMENT);
}

TEST_F(Cpp, ARecordIsDecidedAgain) {
  const std::string record = folder_ + "/record", lock = folder_ + "/recorded-lane";
  LaneOptions options;
  options.engine = ANELANE_ENGINE_SOFT;
  options.lock_dir = lock.c_str();
  options.record_path = record.c_str();
  {
    Result<Lane> lane = Lane::open(options, kBound);
    ASSERT_OK(lane);
    ASSERT_OK(load(*lane).embed_texts("a", kBound));
    ASSERT_OK(lane->close(kBound));
  }
  const Result<Replay> same = replay(record.c_str());
  ASSERT_OK(same);
  EXPECT_GT(same->steps, 2u);
  EXPECT_EQ(same->difference.view(), "");
  EXPECT_EQ(replay((folder_ + "/none").c_str()).status(), ANELANE_IO);
}

}  // namespace
