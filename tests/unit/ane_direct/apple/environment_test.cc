// What the engine asks of its surroundings before it opens anything: TMPDIR, the doctor's mark, the system.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "ane_direct/apple/apple_engine.h"
#include "ane_direct/apple/doctor_marker.h"
#include "ane_direct/apple/temp_folder.h"
#include "base/file.h"
#include "support/tiny_checkpoint.h"

namespace anelane::apple {
namespace {

TEST(Tmpdir, UnsetOrTheUsersOwnIsAccepted) {
  TempFolder temp;
  EXPECT_TRUE(check_tmpdir(nullptr, temp.path()).ok());
  EXPECT_TRUE(check_tmpdir(temp.path().c_str(), temp.path() + "/").ok());
  EXPECT_TRUE(check_tmpdir((temp.path() + "/").c_str(), temp.path()).ok());
  std::filesystem::create_directory(temp.file("real"));
  std::filesystem::create_directory_symlink(temp.file("real"), temp.file("link"));
  EXPECT_TRUE(check_tmpdir(temp.file("link").c_str(), temp.file("real")).ok()) << "/var is /private/var";
}

TEST(Tmpdir, AnyOtherValueIsRefusedWithWhatToDo) {
  TempFolder temp;
  const Status status = check_tmpdir("/somewhere/else", temp.path());
  EXPECT_EQ(status.code(), Code::kEngineUnavailable);
  EXPECT_NE(status.message().find("unset TMPDIR"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find(temp.path()), std::string::npos);
  EXPECT_NE(status.message().find("/somewhere/else"), std::string::npos);
}

TEST(DoctorMarker, HoldsForTheBuildThatPassedOnly) {
  TempFolder home;
  ASSERT_EQ(::setenv("HOME", home.path().c_str(), 1), 0);
  EXPECT_FALSE(doctor_passed("26A434"));
  ASSERT_TRUE(mark_doctor_passed("26A434").ok());
  EXPECT_TRUE(doctor_passed("26A434"));
  EXPECT_FALSE(doctor_passed("26B100"));
  EXPECT_FALSE(doctor_passed(""));
  EXPECT_EQ(*doctor_marker_path(), home.file("Library/Caches/anelane/doctor-passed"));
}

#ifndef __APPLE__
TEST(AppleEngine, ASystemWithoutTheFrameworkSaysSo) {
  const auto engine = make_apple_engine(default_apple_options());
  EXPECT_EQ(engine.status().code(), Code::kEngineUnavailable);
  EXPECT_NE(engine.status().message().find("\"soft\" or \"auto\""), std::string::npos);
}
#endif

TEST(AppleEngine, ALibraryThatIsMissingIsNamed) {
  AppleEngineOptions options;
  options.paths = {"/no/libobjc", "/no/Foundation", "/no/CoreFoundation", "/no/IOSurface", "/no/Engine"};
  const auto engine = make_apple_engine(options);
  EXPECT_EQ(engine.status().code(), Code::kEngineUnavailable);
  EXPECT_NE(engine.status().message().find("/no/Foundation"), std::string::npos) << engine.status().message();
}

TEST(EngineMemory, PlainMemoryIsAlignedAndZeroAndPaddingIsCleared) {
  const Port port{"x", Dtype::kF16, {2, 3, 1, 5}, {192, 64, 64, 2}, 384};
  std::vector<uint8_t> bytes(port.bytes + 8, 0xAA);
  clear_padding(port, bytes.data());
  for (size_t i = 0; i < port.bytes; ++i) EXPECT_EQ(bytes[i], i % 64 < 10 ? 0xAA : 0) << i;
  EXPECT_EQ(bytes[port.bytes], 0xAA) << "nothing beyond the port";
  const Port packed{"x", Dtype::kF16, {1, 2, 1, 32}, {128, 64, 64, 2}, 128};
  bytes.assign(128, 0xAA);
  clear_padding(packed, bytes.data());
  EXPECT_EQ(bytes, std::vector<uint8_t>(128, 0xAA));
}

}  // namespace
}  // namespace anelane::apple
