// The JSON bodies: round trips, L8.5's tolerance, and errors that name frame and member.
#include <gtest/gtest.h>

#include "worker/protocol.h"

namespace anelane::worker {
namespace {

bool mentions(const Status& status, std::string_view text) {
  return status.message().find(text) != std::string::npos;
}

TEST(JsonBodies, InitAndHelloRoundTrip) {
  InitBody init;
  init.version = 3;
  init.nonce = "n";
  init.build = "0.1.0+x";
  init.engine = "auto";
  init.cache_dir = "/c \"q\" \u00e9";
  init.temp_dir = "/t";
  init.numerics = "lattice";
  init.signing_identifier = "org.x";
  init.profile_dir = "/p";
  init.soft_threads = 4;
  init.apple_route = "client";
  init.mil_dialect = "ios16";
  init.in_host = true;
  init.arena_bytes = uint64_t{1} << 40;
  const Result<InitBody> back = parse_init(to_json(init).dump());
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(to_json(*back).dump(), to_json(init).dump());
  EXPECT_EQ(back->arena_bytes, uint64_t{1} << 40);
  HelloBody hello{3, "n", "b", "soft", "fast", "avx2", "os", 118, 4711};
  const Result<HelloBody> hello_back = parse_hello(to_json(hello).dump());
  ASSERT_TRUE(hello_back.ok());
  EXPECT_EQ(to_json(*hello_back).dump(), to_json(hello).dump());
}

TEST(JsonBodies, LoadAndLoadedRoundTrip) {
  const Result<LoadBody> load = parse_load(to_json(LoadBody{"/m", "name", {128, 256}, 4}).dump());
  ASSERT_TRUE(load.ok());
  EXPECT_EQ(load->path, "/m");
  EXPECT_EQ(load->shapes_per_model, 4u);
  EXPECT_EQ(parse_load(R"({"path":"/m"})")->shapes_per_model, 0u);
  EXPECT_EQ(load->rungs, (std::vector<uint32_t>{128, 256}));
  LoadedBody loaded;
  loaded.kind = 1;
  loaded.dim = 384;
  loaded.ladder = {128, 512};
  loaded.cached_shapes = std::vector<uint32_t>{512};
  loaded.checkpoint_digest = "d";
  loaded.check_ms = 1.5;
  const Result<LoadedBody> back = parse_loaded(to_json(loaded).dump());
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(to_json(*back).dump(), to_json(loaded).dump());
}

TEST(JsonBodies, L8_5_MissingOptionalMembersMeanNotKnown) {
  const Result<LoadedBody> loaded =
      parse_loaded(R"({"kind":1,"dim":4,"ceiling":256,"layers":2,"ladder":[128,256]})");
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_FALSE(loaded->cached_shapes.has_value());
  const Result<AdmittedBody> admitted = parse_admitted(R"({"shape":128})");
  ASSERT_TRUE(admitted.ok());
  EXPECT_FALSE(admitted->cache_hit_layers.has_value());
  EXPECT_FALSE(admitted->compiled_layers.has_value());
  const Result<AdmittedBody> full =
      parse_admitted(R"({"shape":128,"cache_hit_layers":0,"compiled_layers":22})");
  ASSERT_TRUE(full.ok());
  EXPECT_EQ(full->cache_hit_layers, 0u);
  EXPECT_EQ(full->compiled_layers, 22u);
}

TEST(JsonBodies, L8_5_UnknownMembersAreIgnored) {
  const Result<AdmittedBody> admitted = parse_admitted(R"({"shape":128,"mood":{"a":[1,null]},"total_ms":3})");
  ASSERT_TRUE(admitted.ok()) << admitted.status().message();
  EXPECT_EQ(admitted->total_ms, 3.0);
}

TEST(JsonBodies, ErrorsNameFrameAndMember) {
  EXPECT_TRUE(mentions(parse_init(R"({"version":3})").status(), "INIT: member \"nonce\" is missing"));
  EXPECT_TRUE(
      mentions(parse_admitted(R"({"shape":-1})").status(), "ADMITTED: member \"shape\" is out of range"));
  EXPECT_TRUE(mentions(parse_admitted(R"({"shape":1.5})").status(), "is not an integer"));
  EXPECT_TRUE(mentions(parse_admitted(R"({"shape":4294967296})").status(), "out of range"));
  EXPECT_TRUE(mentions(parse_load(R"({"path":7})").status(), "LOAD: member \"path\" is not a string"));
  EXPECT_TRUE(mentions(parse_load(R"({"path":"x","rungs":5})").status(), "is not a list"));
  EXPECT_TRUE(
      mentions(parse_load(R"({"path":"x","rungs":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]})").status(),
               "too many"));
  EXPECT_TRUE(mentions(parse_shape("[]").status(), "not a JSON object"));
  for (const char* bad : {"", "{", "nonsense", "{\"shape\":}", "\xff\xfe"})
    EXPECT_EQ(parse_shape(bad).status().code(), Code::kProtocol) << bad;
}

TEST(JsonBodies, FailedCarriesTheWholeError) {
  const Status sent = error(Code::kResourcesExhausted, "no room")
                          .with_item(7)
                          .with_limit(118)
                          .with_shape(512)
                          .with_model("gte")
                          .with_retry_after(250);
  Status got;
  ASSERT_TRUE(parse_failed(to_json(sent).dump(), &got).ok());
  EXPECT_EQ(got.code(), sent.code());
  EXPECT_EQ(got.message(), "no room");
  EXPECT_EQ(got.detail().item, 7);
  EXPECT_EQ(got.detail().limit, 118u);
  EXPECT_EQ(got.detail().shape, 512u);
  EXPECT_EQ(got.detail().model, "gte");
  EXPECT_EQ(got.detail().retry_after_ms, 250u);
  EXPECT_EQ(got.detail().transient, sent.detail().transient);
  EXPECT_EQ(got.detail().safe_to_retry, sent.detail().safe_to_retry);
  const Status plain = error(Code::kIo, "x");
  ASSERT_TRUE(parse_failed(to_json(plain).dump(), &got).ok());
  EXPECT_EQ(got.detail().item, -1);
}

TEST(JsonBodies, FailedMustNameAnError) {
  for (const char* bad : {R"({"code":"OK","message":"m"})", R"({"code":"NEW_ONE","message":"m"})",
                          R"({"message":"m"})", R"({"code":"IO"})", R"({"code":3,"message":"m"})"}) {
    Status got;
    EXPECT_EQ(parse_failed(bad, &got).code(), Code::kProtocol) << bad;
    EXPECT_TRUE(got.ok()) << bad;
  }
}

TEST(JsonBodies, ProgressAndPongRoundTrip) {
  const Result<ProgressBody> progress = parse_progress(to_json(ProgressBody{128, 3, 22}).dump());
  ASSERT_TRUE(progress.ok());
  EXPECT_EQ(progress->layer, 3u);
  EXPECT_EQ(progress->layers, 22u);
  const Result<PongBody> pong = parse_pong(to_json(PongBody{1500, 9, 12}).dump());
  ASSERT_TRUE(pong.ok());
  EXPECT_EQ(pong->busy_ms, 1500u);
  EXPECT_EQ(pong->request, 9u);
  EXPECT_EQ(pong->steps, 12u);
}

}  // namespace
}  // namespace anelane::worker
