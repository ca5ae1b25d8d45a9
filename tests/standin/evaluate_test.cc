// §6 of what the stand-in imitates: requests, binding by symbol index, surfaces, padding; and the IOSurface
// double.
#include <cstring>

#include "fixture.h"

namespace standin {
namespace {

using anelane::float_to_half;
using anelane::half_to_float;

class Evaluate : public StandinTest {
 protected:
  // A loaded model; unloaded by the test's end.
  InMemory& loaded(const anelane::Program& program) {
    models_.push_back(std::make_unique<InMemory>(program));
    InMemory& model = *models_.back();
    model.stage();
    EXPECT_TRUE(model.compile() && model.load()) << model.error.all();
    return model;
  }
  bool evaluate(InMemory* model, const std::vector<id>& in, const std::vector<uint64_t>& in_at,
                const std::vector<id>& out, const std::vector<uint64_t>& out_at, uint64_t procedure = 0) {
    id request = request_of(in, in_at, out, out_at, procedure);
    const bool ok = model->evaluate(request);
    msg<void>(request, "release");
    return ok;
  }
  void TearDown() override {
    for (const auto& model : models_) (void)model->unload();
    models_.clear();
    StandinTest::TearDown();
  }

 private:
  std::vector<std::unique_ptr<InMemory>> models_;
};

TEST_F(Evaluate, S9_6_AnInvalidRequestIsNoWithoutAnError) {
  InMemory& model = loaded(doubling());
  const Surface in(49152), out(49152);
  const auto refused = [&](const std::vector<id>& ins, const std::vector<uint64_t>& in_at,
                           const std::vector<uint64_t>& out_at, uint64_t procedure, const char* why) {
    EXPECT_FALSE(evaluate(&model, ins, in_at, {out.object()}, out_at, procedure)) << why;
    EXPECT_TRUE(model.error.none) << why << ": " << model.error.all();
  };
  refused({}, {}, {0}, 0, "no input");
  refused({in.object()}, {0, 1}, {0}, 0, "more indices than inputs");
  refused({in.object()}, {0}, {}, 0, "fewer indices than outputs");
  refused({in.object()}, {255}, {0}, 0, "index above 254");
  refused({in.object()}, {0}, {0}, 129, "procedure above 128");
  refused(std::vector<id>(256, in.object()), std::vector<uint64_t>(256, 0), {0}, 0, "256 buffers");
  EXPECT_FALSE(model.evaluate(nullptr));
  EXPECT_TRUE(model.error.none);
  id valid = request_of({in.object()}, {0}, {out.object()}, {0});
  EXPECT_TRUE(msg<bool>(valid, "validate"));
  EXPECT_TRUE(model.evaluate(valid) && model.evaluate(valid)) << "a request can be used again";
  msg<void>(valid, "release");
}

TEST_F(Evaluate, S9_6_BeforeLoadAndAfterUnload) {
  const Surface in(49152), out(49152);
  {
    InMemory fresh(doubling());
    EXPECT_FALSE(evaluate(&fresh, {in.object()}, {0}, {out.object()}, {0}));
    EXPECT_TRUE(fresh.error.none) << "a message to no program: " << fresh.error.all();
  }
  InMemory& model = loaded(doubling());
  ASSERT_TRUE(model.unload());
  EXPECT_FALSE(evaluate(&model, {in.object()}, {0}, {out.object()}, {0}));
  EXPECT_EQ(model.error.code, 23) << model.error.all();
  set("system", "26");
  EXPECT_FALSE(evaluate(&model, {in.object()}, {0}, {out.object()}, {0}));
  EXPECT_EQ(model.error.code, 8) << model.error.all();
  EXPECT_NE(model.error.text.find("status=0xe"), std::string::npos) << model.error.all();
}

TEST_F(Evaluate, S9_6_SurfacesThatAreTooSmall) {
  InMemory& model = loaded(doubling(1, 1024));  // 32 rows of 2 KiB: 64 KiB
  const Surface small(49152), large(65536);
  EXPECT_TRUE(evaluate(&model, {large.object()}, {0}, {Surface(131072).object()}, {0}))
      << "larger is accepted";
  for (const bool small_output : {false, true}) {
    const std::vector<id> in{small_output ? large.object() : small.object()},
        out{small_output ? small.object() : large.object()};
    set("system", "27");
    EXPECT_FALSE(evaluate(&model, in, {0}, out, {0}));
    EXPECT_EQ(model.error.code, 42) << model.error.all();
    EXPECT_NE(model.error.text.find("(underlying=0x1d)"), std::string::npos) << model.error.all();
    set("system", "26");
    EXPECT_FALSE(evaluate(&model, in, {0}, out, {0}));
    EXPECT_EQ(model.error.code, 8) << model.error.all();
    EXPECT_NE(
        model.error.text.find("ANEProgramProcessRequestDirect() Failed with status=0x1d : statusType=0x"),
        std::string::npos)
        << model.error.all();
  }
}

TEST_F(Evaluate, S9_6_BindingIsBySymbolIndexInAlphabeticalOrder) {
  InMemory& model = loaded(two_ports());
  {
    const Pool pool;
    id attributes = msg(model.model(), "modelAttributes");
    EXPECT_EQ(symbols(attributes, false), (std::vector<std::string>{"a10", "a2"}));
    EXPECT_EQ(symbols(attributes, true), (std::vector<std::string>{"z_a@output", "z_b@output"}));
  }
  const Surface a10(49152), a2(49152), z_a(49152), z_b(49152);
  a10.row(0, 64)[0] = float_to_half(7);
  a2.row(0, 64)[0] = float_to_half(2);
  ASSERT_TRUE(evaluate(&model, {a10.object(), a2.object()}, {0, 1}, {z_a.object(), z_b.object()}, {0, 1}));
  EXPECT_EQ(half_to_float(z_a.row(0, 64)[0]), 5);
  EXPECT_EQ(half_to_float(z_b.row(0, 64)[0]), 7);
  // The same call with the surfaces the other way round and their indices with them.
  ASSERT_TRUE(evaluate(&model, {a2.object(), a10.object()}, {1, 0}, {z_b.object(), z_a.object()}, {1, 0}));
  EXPECT_EQ(half_to_float(z_a.row(0, 64)[0]), 5);
  // Who binds in declared order gets the wrong answer and no error.
  ASSERT_TRUE(evaluate(&model, {a2.object(), a10.object()}, {0, 1}, {z_a.object(), z_b.object()}, {0, 1}));
  EXPECT_EQ(half_to_float(z_a.row(0, 64)[0]), -5);
  for (const std::vector<uint64_t>& wrong : {std::vector<uint64_t>{0, 0}, std::vector<uint64_t>{0, 2}}) {
    EXPECT_FALSE(evaluate(&model, {a10.object(), a2.object()}, wrong, {z_a.object(), z_b.object()}, {0, 1}));
    EXPECT_EQ(model.error.code, 8) << model.error.all();
  }
  EXPECT_FALSE(evaluate(&model, {a10.object()}, {0}, {z_a.object(), z_b.object()}, {0, 1}))
      << "an input is missing";
  EXPECT_FALSE(evaluate(&model, {a10.object(), a2.object()}, {0, 1}, {z_a.object(), z_b.object()}, {0, 1}, 1))
      << "procedure 1 does not exist";
}

TEST_F(Evaluate, S9_6_RowPaddingIsHonouredAndPoisoned) {
  InMemory& model = loaded(doubling(1, 40));  // 80 of 128 bytes
  const Surface in(49152), out(49152);
  ASSERT_TRUE(evaluate(&model, {in.object()}, {0}, {out.object()}, {0}));
  for (size_t c = 0; c < 32; ++c)
    for (size_t i = 80; i < 128; ++i)
      ASSERT_EQ(out.bytes()[c * 128 + i], STANDIN_OUTPUT_PADDING) << c << " " << i;
  EXPECT_EQ(out.bytes()[32 * 128], 0) << "beyond the port nothing is touched";
  EXPECT_EQ(since().dirty_padding_rows, 0);
  // An output handed on as the next input, padding and all, keeps the rules.
  const Surface next(49152);
  ASSERT_TRUE(evaluate(&model, {out.object()}, {0}, {next.object()}, {0}));
  EXPECT_EQ(half_to_float(next.row(31, 128)[39]), 3);
  EXPECT_EQ(since().dirty_padding_rows, 0);
  const Surface fresh(49152, false);
  EXPECT_EQ(fresh.bytes()[0], STANDIN_FRESH_SURFACE);
  ASSERT_TRUE(evaluate(&model, {fresh.object()}, {0}, {out.object()}, {0}));
  EXPECT_EQ(since().dirty_padding_rows, 32) << "a surface that nobody zeroed";
  in.bytes()[127] = 1;
  ASSERT_TRUE(evaluate(&model, {in.object()}, {0}, {out.object()}, {0}));
  EXPECT_EQ(since().dirty_padding_rows, 33);
}

TEST_F(Evaluate, MisuseOfSurfacesIsCounted) {
  InMemory& model = loaded(doubling());
  const Surface in(49152), out(49152);
  EXPECT_EQ(IOSurfaceLock(in.ref(), 0, nullptr), 0);
  ASSERT_TRUE(evaluate(&model, {in.object()}, {0}, {out.object()}, {0}));
  EXPECT_EQ(IOSurfaceUnlock(in.ref(), 0, nullptr), 0);
  EXPECT_EQ(since().evaluated_while_locked, 1);
  ASSERT_TRUE(evaluate(&model, {in.object()}, {0}, {in.object()}, {0}));
  EXPECT_EQ(since().aliased_surfaces, 1);
  EXPECT_EQ(IOSurfaceLock(in.ref(), 1, nullptr), 0);
  EXPECT_NE(IOSurfaceUnlock(in.ref(), 0, nullptr), 0) << "other options than the lock's";
  EXPECT_EQ(IOSurfaceUnlock(in.ref(), 1, nullptr), 0);
  EXPECT_NE(IOSurfaceUnlock(in.ref(), 1, nullptr), 0);
  EXPECT_EQ(since().unbalanced_locks, 2);
}

TEST_F(Evaluate, SurfacesAreWhatWasAskedFor) {
  const Pool pool;
  EXPECT_EQ(IOSurfaceGetAllocSize(Surface(49153).ref()), 65536u) << "whole pages of 16 KiB";
  IOSurfaceRef flat =
      IOSurfaceCreate(dictionary({{kIOSurfaceWidth, number(100)}, {kIOSurfaceHeight, number(2)}}));
  EXPECT_EQ(IOSurfaceGetAllocSize(flat), 16384u) << "the Rust form: no size, no format";
  CFRelease(flat);
  EXPECT_EQ(IOSurfaceCreate(nullptr), nullptr);
  EXPECT_EQ(IOSurfaceCreate(dictionary({{kIOSurfaceWidth, number(100)}})), nullptr) << "no height";
  EXPECT_EQ(IOSurfaceCreate(dictionary({{kIOSurfaceWidth, number(100)},
                                        {kIOSurfaceHeight, number(1)},
                                        {kIOSurfaceBytesPerRow, number(99)}})),
            nullptr);
  EXPECT_EQ(msg(type("_ANEIOSurfaceObject"), "objectWithIOSurface:", IOSurfaceRef{}), nullptr);
}

TEST_F(Evaluate, SurfaceObjectsHoldTheirSurface) {
  {
    const Pool pool;
    IOSurfaceRef surface =
        IOSurfaceCreate(dictionary({{kIOSurfaceWidth, number(64)}, {kIOSurfaceHeight, number(1)}}));
    id object = msg(type("_ANEIOSurfaceObject"), "objectWithIOSurface:", surface);
    EXPECT_EQ(msg<IOSurfaceRef>(object, "ioSurface"), surface);
    EXPECT_EQ(msg<int>(msg(object, "startOffset"), "intValue"), 0);
    // This one takes over the reference that we have.
    (void)msg(type("_ANEIOSurfaceObject"), "objectWithIOSurfaceNoRetain:startOffset:", surface, number(64));
    EXPECT_EQ(since().surfaces_alive, 1);
  }
  EXPECT_EQ(since().surfaces_alive, 0);
  EXPECT_EQ(since().surface_objects_alive, 0);
}

TEST_F(Evaluate, WhatAnOrdinaryProcessIsRefused) {
  InMemory& model = loaded(doubling());
  const Pool pool;
  id client = msg(type("_ANEClient"), "sharedConnection"), problem = nullptr;
  EXPECT_FALSE(msg<bool>(client, "beginRealTimeTask"));
  EXPECT_FALSE(
      msg<bool>(client, "loadRealTimeModel:options:qos:error:", id{}, dictionary({}), 21u, &problem));
  EXPECT_EQ(error_of(problem).code, 1);
  EXPECT_FALSE(msg<bool>(client, "prepareChainingWithModel:options:chainingReq:qos:error:", id{},
                         dictionary({}), id{}, 21u, &problem));
  EXPECT_EQ(error_of(problem).code, 15);
  EXPECT_FALSE(
      msg<bool>(model.model(), "mapIOSurfacesWithRequest:cacheInference:error:", id{}, true, &problem));
  EXPECT_EQ(error_of(problem).code, 13);
  EXPECT_TRUE(msg<bool>(client, "mapIOSurfacesWithModel:request:cacheInference:error:",
                        msg(model.model(), "model"), id{}, true, &problem));
}

}  // namespace
}  // namespace standin
