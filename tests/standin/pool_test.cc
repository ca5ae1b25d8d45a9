// §7 and §8 of what the stand-in imitates: live programs of the machine, and objects that nobody drains.
#include <sys/wait.h>

#include <chrono>
#include <memory>
#include <thread>

#include "child.h"
#include "fixture.h"

namespace standin {
namespace {

class LivePrograms : public StandinTest {
 protected:
  std::unique_ptr<InMemory> loaded(float one) {
    auto model = std::make_unique<InMemory>(doubling(one));
    if (!model->is_cached()) {
      model->stage();
      EXPECT_TRUE(model->compile()) << model->error.all();
    }
    EXPECT_TRUE(model->load()) << model->error.all();
    return model;
  }
  std::map<std::string, std::string> knobs() { return {{"root", root()}, {"pool_limit", "3"}}; }
};

TEST_F(LivePrograms, S9_7_AFullPoolIsCode54OrCode6) {
  set("pool_limit", "2");
  const auto first = loaded(1), second = loaded(2);
  InMemory third(doubling(3));
  third.stage();
  ASSERT_TRUE(third.compile()) << "compiling takes no place: " << third.error.all();
  EXPECT_FALSE(third.load());
  EXPECT_EQ(third.error.domain, "com.apple.appleneuralengine");
  EXPECT_EQ(third.error.code, 54);
  EXPECT_NE(third.error.text.find("no ANE resources"), std::string::npos) << third.error.all();
  EXPECT_NE(third.error.text.find("(underlying=0x5)"), std::string::npos) << third.error.all();
  set("system", "26");
  set("os_build", "26A434");
  EXPECT_FALSE(third.load());
  EXPECT_EQ(third.error.code, 6);
  EXPECT_NE(third.error.text.find("Program load failure (0x5)"), std::string::npos) << third.error.all();
  set("system", "27");
  EXPECT_TRUE(first->unload());
  EXPECT_TRUE(third.load()) << third.error.all();
  EXPECT_TRUE(second->unload());
  EXPECT_TRUE(third.unload());
  EXPECT_EQ(standin_pool_in_use(), 0u);
}

TEST_F(LivePrograms, S9_7_AllProcessesShareItAndTheDeadGiveBack) {
  set("pool_limit", "3");
  Child holder({"hold", "1", "3"}, knobs());
  std::string line = holder.line();
  while (line == "compiled") line = holder.line();
  ASSERT_EQ(line, "held");
  EXPECT_EQ(standin_pool_in_use(), 3u);
  InMemory mine(doubling(9));
  mine.stage();
  ASSERT_TRUE(mine.compile()) << mine.error.all();
  EXPECT_FALSE(mine.load());
  EXPECT_EQ(mine.error.code, 54) << mine.error.all();
  holder.kill();
  EXPECT_EQ(standin_pool_in_use(), 0u);
  EXPECT_TRUE(mine.load()) << mine.error.all();
  Child polite({"hold", "1", "2"}, knobs());
  EXPECT_EQ(polite.line(), "held") << "from the vault";
  EXPECT_EQ(standin_pool_in_use(), 3u);
  polite.close_input();
  EXPECT_EQ(polite.wait(), 0);
  EXPECT_EQ(standin_pool_in_use(), 1u);
  EXPECT_TRUE(mine.unload());
}

TEST_F(LivePrograms, S9_7_APlaceComesBackOnlyWhenTheCompileIsDrained) {
  set("pool_limit", "1");
  InMemory model(doubling(1)), next(doubling(2));
  model.stage();
  next.stage();
  ASSERT_TRUE(next.compile()) << next.error.all();
  {
    const Pool around_the_compile;
    id problem = nullptr;
    ASSERT_TRUE(msg<bool>(model.model(), "compileWithQoS:options:error:", 21u, dictionary({}), &problem));
    ASSERT_TRUE(model.load()) << model.error.all();
    ASSERT_TRUE(model.unload()) << model.error.all();
    EXPECT_EQ(since().temporaries_alive, 1);
    EXPECT_EQ(standin_pool_in_use(), 1u) << "unloaded, and still occupied";
    EXPECT_FALSE(next.load());
    EXPECT_EQ(next.error.code, 54) << next.error.all();
  }
  EXPECT_EQ(since().temporaries_alive, 0);
  EXPECT_EQ(standin_pool_in_use(), 0u);
  EXPECT_TRUE(next.load()) << next.error.all();
  EXPECT_TRUE(next.unload());
}

TEST_F(LivePrograms, APlaceMayComeBackLater) {
  set("pool_limit", "2");
  const auto first = loaded(1), second = loaded(2);
  InMemory next(doubling(3));
  next.stage();
  ASSERT_TRUE(next.compile()) << next.error.all();
  set("reclaim_ms", "3600000");
  EXPECT_TRUE(first->unload());
  EXPECT_FALSE(next.load()) << "in an hour";
  EXPECT_EQ(next.error.code, 54) << next.error.all();
  set("reclaim_ms", "20");
  EXPECT_TRUE(second->unload());
  bool done = false;
  for (int i = 0; i < 1000 && !done; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    done = next.load();
  }
  EXPECT_TRUE(done) << next.error.all();
  set("reclaim_ms", "0");
  EXPECT_TRUE(next.unload());
}

TEST_F(LivePrograms, S9_7_WithoutAPoolThePlaceIsLostForGood) {
  set("pool_limit", "1");
  InMemory model(doubling(1));
  model.stage();
  // A thread without any pool, as in a C program that has no run loop.
  std::thread([&] {
    id problem = nullptr;
    EXPECT_TRUE(msg<bool>(model.model(), "compileWithQoS:options:error:", 21u, dictionary({}), &problem));
  }).join();
  ASSERT_TRUE(model.load()) << model.error.all();
  ASSERT_TRUE(model.unload()) << model.error.all();
  EXPECT_EQ(since().programs_alive, 1);
  EXPECT_EQ(standin_pool_in_use(), 1u);
  EXPECT_GT(since().autoreleased_without_pool, 0);
  standin_counters(&before_);  // what TearDown compares with: this was on purpose
}

TEST_F(LivePrograms, S9_8_ObjectsWithoutAPoolAreCounted) {
  std::thread([&] {
    (void)string("a string");
    EXPECT_EQ(since().autoreleased_without_pool, 1);
    {
      const Pool pool;
      (void)string("another string");
      (void)dictionary({{string("k"), number(1000)}});
    }
    EXPECT_EQ(since().autoreleased_without_pool, 1);
    (void)msg(type("_ANEInMemoryModelDescriptor"), "modelWithMILText:weights:optionsPlist:", id{}, id{},
              id{});
    EXPECT_EQ(since().autoreleased_without_pool, 1) << "refused: nothing was made";
  }).join();
  standin_counters(&before_);
}

TEST_F(LivePrograms, TwoHundredCyclesLeaveNothing) {
  set("pool_limit", "2");
  for (int i = 0; i < 200; ++i) {
    const auto model = loaded(static_cast<float>(i % 4));
    ASSERT_TRUE(model->unload()) << i << " " << model->error.all();
    ASSERT_EQ(since().programs_alive, 0) << i;
  }
  EXPECT_EQ(standin_pool_in_use(), 0u);
  EXPECT_EQ(since().surfaces_alive + since().in_memory_models_alive + since().descriptors_alive, 0);
}

TEST_F(LivePrograms, LifeCycleCallsAtTheSameTimeAreCounted) {
  InMemory slow(doubling(1)), quick(doubling(2));
  slow.stage();
  quick.stage();
  set("stall_compile_ms", "1000");
  std::thread other([&] { EXPECT_TRUE(slow.compile()) << slow.error.all(); });
  while (since().compiles == 0) std::this_thread::yield();
  EXPECT_TRUE(quick.compile()) << quick.error.all();
  other.join();
  EXPECT_EQ(since().overlapping_calls, 1);
}

}  // namespace
}  // namespace standin
