// §9 of what the stand-in imitates, and the knobs with which a test makes it go wrong.
#include <sys/wait.h>

#include <ctime>
#include <filesystem>

#include "child.h"
#include "fixture.h"

namespace standin {
namespace {

class Knobs : public StandinTest {};

TEST_F(Knobs, FaultsHitTheCallsThatAreNamed) {
  InMemory model(doubling());
  model.stage();
  set("fail_compile",
      "1:compiler:1:_ANECompiler : ANECCompile() FAILED;3+:ane:54:text: with (underlying=0x5)");
  EXPECT_FALSE(model.compile());
  EXPECT_EQ(model.error.all(), "com.apple.appleneuralengine.compiler 1: _ANECompiler : ANECCompile() FAILED");
  EXPECT_TRUE(model.compile()) << model.error.all();
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(model.compile());
    EXPECT_EQ(model.error.all(), "com.apple.appleneuralengine 54: text: with (underlying=0x5)");
  }
  set("fail_load", "*:nil");
  EXPECT_FALSE(model.load());
  EXPECT_TRUE(model.error.none) << model.error.all();
  set("fail_load", "2:NSCocoaErrorDomain:4097:connection interrupted");
  EXPECT_TRUE(model.load()) << model.error.all();
  set("fail_unload", "*:ane:3:timed out");
  EXPECT_FALSE(model.unload());
  EXPECT_EQ(model.error.all(), "com.apple.appleneuralengine 3: timed out");
  set("fail_unload", "");
  const Surface in(49152), out(49152);
  id request = request_of({in.object()}, {0}, {out.object()}, {0});
  set("fail_evaluate", "1:ane:8:ANEProgramProcessRequestDirect() Failed with status=0xf : statusType=0x9");
  EXPECT_FALSE(model.evaluate(request));
  EXPECT_EQ(model.error.code, 8);
  EXPECT_TRUE(model.evaluate(request)) << model.error.all();
  msg<void>(request, "release");
  EXPECT_TRUE(model.unload()) << model.error.all();
}

TEST_F(Knobs, ExceptionsComeOutOfTheSelectorThatIsNamed) {
  InMemory model(doubling());
  model.stage();
  set("raise", "2@compileWithQoS:options:error:,purgeCompiledModel");
  EXPECT_TRUE(model.compile()) << model.error.all();
  bool caught = false;
  try {
    (void)model.compile();
  } catch (...) {
    caught = true;
  }
  EXPECT_TRUE(caught);
  EXPECT_TRUE(model.compile()) << model.error.all();
  EXPECT_ANY_THROW(msg<void>(model.model(), "purgeCompiledModel"));
  EXPECT_EQ(since().raised, 2);
  EXPECT_EQ(since().pools_alive, 0) << "a pool that an exception passes is popped";
  standin_counters(&before_);  // the second exception was made where there was no pool
}

TEST_F(Knobs, OptionsThatAreNilRaise) {
  InMemory model(doubling());
  const Pool pool;
  id problem = nullptr;
  EXPECT_ANY_THROW((void)msg<bool>(model.model(), "compileWithQoS:options:error:", 21u, id{}, &problem));
  EXPECT_ANY_THROW((void)msg<bool>(model.model(), "loadWithQoS:options:error:", 21u, id{}, &problem));
}

TEST_F(Knobs, System27RaisesOnStatsThatAreNoArray) {
  const Pool pool;
  const Surface in(49152), out(49152);
  const auto valid = [&](id stats) {
    id request =
        msg(type("_ANERequest"),
            "requestWithInputs:inputIndices:outputs:outputIndices:weightsBuffer:perfStats:procedureIndex:",
            array({in.object()}), array({number(0)}), array({out.object()}), array({number(0)}), id{}, stats,
            number(0));
    return msg<bool>(request, "validate");
  };
  EXPECT_TRUE(valid(nullptr));
  EXPECT_TRUE(valid(array({})));
  EXPECT_ANY_THROW((void)valid(number(1)));
  set("system", "26");
  EXPECT_TRUE(valid(number(1)));
}

TEST_F(Knobs, AStallIsInsideTheCall) {
  InMemory model(doubling());
  model.stage();
  set("stall_compile_ms", "150");
  timespec begin{}, end{};
  clock_gettime(CLOCK_MONOTONIC, &begin);
  EXPECT_TRUE(model.compile()) << model.error.all();
  clock_gettime(CLOCK_MONOTONIC, &end);
  EXPECT_GE((end.tv_sec - begin.tv_sec) * 1000 + (end.tv_nsec - begin.tv_nsec) / 1000000, 149);
}

TEST_F(Knobs, AKilledCompileLeavesItsStagingAndItsCounters) {
  Child child({"run", "40"}, {{"root", root()}, {"kill_compile", "1"}, {"stats", root() + "/stats"}});
  const std::string counters = root() + "/stats." + std::to_string(child.pid());
  const int status = child.wait();
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  EXPECT_TRUE(exists(temp() + "/" + InMemory(doubling()).hex() + "/model.mil"));
  StandinCounters dead{};
  ASSERT_TRUE(standin_read_counters(counters.c_str(), &dead));
  EXPECT_EQ(dead.compiles, 1);
  EXPECT_EQ(dead.compiles_done, 0);
}

TEST_F(Knobs, TheControlFileWorksWhileTheProcessRuns) {
  const std::string file = root() + "/control";
  ASSERT_EQ(::setenv("ANE_STANDIN_CONTROL", file.c_str(), 1), 0);
  InMemory model(doubling());
  model.stage();
  EXPECT_TRUE(model.compile()) << model.error.all();
  write_file(file, "fail_load=1:ane:54:full\n");
  EXPECT_FALSE(model.load());
  EXPECT_EQ(model.error.code, 54);
  EXPECT_TRUE(model.load()) << model.error.all();
  EXPECT_TRUE(model.unload());
  write_file(file, "fail_load=1:ane:6:other\n");
  EXPECT_FALSE(model.load());
  EXPECT_EQ(model.error.code, 6);
  write_file(file, "");
  EXPECT_TRUE(model.load()) << model.error.all();
  EXPECT_TRUE(model.unload());
  ::unsetenv("ANE_STANDIN_CONTROL");
}

}  // namespace
}  // namespace standin
