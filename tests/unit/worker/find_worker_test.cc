// Where the worker executable is looked for, and what is said when it is not there.
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>
#include <filesystem>

#include <cstdlib>

#include "support/tiny_checkpoint.h"
#include "worker/worker_handle.h"

namespace anelane::worker {
namespace {

std::string make_program(const std::string& path, unsigned mode = 0700) {
  EXPECT_TRUE(write_file_atomic(path, std::string_view("#!/bin/true\n")).ok());
  EXPECT_EQ(::chmod(path.c_str(), mode), 0);
  return path;
}

class FindWorker : public testing::Test {
 protected:
  void SetUp() override { ::unsetenv("ANELANE_WORKER"); }
  void TearDown() override { ::unsetenv("ANELANE_WORKER"); }
  TempFolder folder_;
};

TEST_F(FindWorker, OptionComesFirst) {
  const std::string option = make_program(folder_.file("a"));
  const std::string variable = make_program(folder_.file("b"));
  ::setenv("ANELANE_WORKER", variable.c_str(), 1);
  EXPECT_EQ(*find_worker_executable(option), option);
  EXPECT_EQ(*find_worker_executable(""), variable);
}

TEST_F(FindWorker, WhatTheUserNamedIsNeverPassedOver) {
  make_program(folder_.file("plain"), 0600);
  for (const std::string& path : {folder_.file("missing"), folder_.file("plain"), folder_.path()}) {
    const Status by_option = find_worker_executable(path).status();
    EXPECT_EQ(by_option.code(), Code::kEngineUnavailable);
    EXPECT_NE(by_option.message().find(path), std::string::npos);
    ::setenv("ANELANE_WORKER", path.c_str(), 1);
    const Status by_variable = find_worker_executable("").status();
    EXPECT_EQ(by_variable.code(), Code::kEngineUnavailable);
    EXPECT_NE(by_variable.message().find("ANELANE_WORKER"), std::string::npos) << by_variable.message();
  }
}

TEST_F(FindWorker, RelativeOptionBecomesAbsolute) {
  make_program(folder_.file("w"));
  char before[4096];
  ASSERT_NE(::getcwd(before, sizeof before), nullptr);
  ASSERT_EQ(::chdir(folder_.path().c_str()), 0);
  const Result<std::string> found = find_worker_executable("./w");
  ASSERT_EQ(::chdir(before), 0);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ((*found)[0], '/');
  EXPECT_EQ(::access(found->c_str(), X_OK), 0);
}

TEST_F(FindWorker, NotFoundNamesThePlacesAndNeverLooksAtPath) {
  // This program lies in tests/, where no worker is; PATH leads to one and must not matter.
  make_program(folder_.file("anelane-worker"));
  const std::string path = folder_.path() + ":" + std::getenv("PATH");
  ::setenv("PATH", path.c_str(), 1);
  const Result<std::string> found = find_worker_executable("");
  ASSERT_FALSE(found.ok()) << *found;
  EXPECT_EQ(found.status().code(), Code::kEngineUnavailable);
  for (const char* place :
       {"/tests/anelane-worker", "/libexec/anelane/anelane-worker", "/Helpers/anelane-worker"})
    EXPECT_NE(found.status().message().find(place), std::string::npos)
        << place << ": " << found.status().message();
  // What to do stands in front of the places, which may be as long as they like.
  EXPECT_NE(found.status().message().substr(0, 120).find("install anelane-worker"), std::string::npos);
}

// What a program that lies in `place` below the folder finds.
std::string found_from(const TempFolder& folder, const std::string& place) {
  const std::string program = folder.file(place) + "/host";
  EXPECT_TRUE(make_folders(folder.file(place)).ok());
  const Result<std::string> bytes = read_file(ANELANE_BUILD_DIR "/tests/owner_program", 1u << 30);
  EXPECT_TRUE(bytes.ok() && write_file_atomic(program, std::string_view(*bytes), 0700).ok());
  std::FILE* pipe = ::popen((program + " --find").c_str(), "r");
  char text[4096] = {};
  (void)!std::fread(text, 1, sizeof text - 1, pipe);
  ::pclose(pipe);
  return text;
}

TEST_F(FindWorker, FoundInEachPlaceAroundTheLibrary) {
  const std::string top = std::filesystem::canonical(folder_.path()).string();
  const std::pair<const char*, const char*> cases[] = {
      {"Contents/Frameworks", "Contents/Helpers"},
      {"usr/lib/x86_64-linux-gnu", "usr/libexec/anelane"},
      {"opt/lib", "opt/libexec/anelane"},
      {"build", "build"},
  };
  for (const auto& [library, worker] : cases) {
    ASSERT_TRUE(make_folders(folder_.file(worker)).ok());
    make_program(folder_.file(worker) + "/anelane-worker");
    EXPECT_EQ(found_from(folder_, library), top + "/" + worker + "/anelane-worker");
  }
}

}  // namespace
}  // namespace anelane::worker
