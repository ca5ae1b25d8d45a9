// Sources of the client route: whole or not there, believed only when the bytes are right, swept by age.
#include "ane_direct/apple/source_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "ane_direct/content_id.h"
#include "base/clock.h"
#include "base/file.h"
#include "support/tiny_checkpoint.h"

namespace anelane::apple {
namespace {

namespace fs = std::filesystem;

class Sources : public testing::Test {
 protected:
  const Program program_{"program(1.3)\n{}\n", {1, 2, 3, 4}, ""};
  const std::string id_ = content_id(program_);
  TempFolder temp_;
  SourceFolder sources_{temp_.file("apple-sources")};
  const std::string folder_ = temp_.file("apple-sources/" + id_);
};

TEST_F(Sources, WritesBothFilesAndLeavesNothingBeside) {
  ASSERT_TRUE(sources_.write(id_, program_).ok());
  EXPECT_EQ(sources_.path_of(id_), folder_);
  EXPECT_EQ(*read_file(folder_ + "/model.mil", 1000), program_.mil);
  EXPECT_EQ(read_file(folder_ + "/weights/weight.bin", 1000)->size(), 4u);
  EXPECT_EQ(std::distance(fs::directory_iterator(temp_.file("apple-sources")), {}), 1);
}

TEST_F(Sources, WhatIsThereAndRightIsNotWrittenAgain) {
  ASSERT_TRUE(sources_.write(id_, program_).ok());
  struct stat before {
  }, after{};
  ASSERT_EQ(::stat((folder_ + "/model.mil").c_str(), &before), 0);
  ASSERT_TRUE(sources_.write(id_, program_).ok());
  ASSERT_EQ(::stat((folder_ + "/model.mil").c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
}

TEST_F(Sources, WhatIsDamagedIsReplaced) {
  ASSERT_TRUE(sources_.write(id_, program_).ok());
  ASSERT_TRUE(write_file_atomic(folder_ + "/weights/weight.bin", "\1\2\3\5").ok());
  ASSERT_TRUE(sources_.write(id_, program_).ok());
  EXPECT_EQ(*read_file(folder_ + "/weights/weight.bin", 1000), std::string("\1\2\3\4"));
  fs::remove(folder_ + "/model.mil");
  fs::create_symlink("/etc/hostname", folder_ + "/model.mil");
  ASSERT_TRUE(sources_.write(id_, program_).ok());
  EXPECT_EQ(*read_file(folder_ + "/model.mil", 1000), program_.mil);
  EXPECT_FALSE(fs::is_symlink(folder_ + "/model.mil"));
}

TEST_F(Sources, ASweepRemovesTheUnusedAndWhatDeadWritersLeft) {
  constexpr int64_t kDay = 24 * 3600;
  const int64_t now = unix_ms() / 1000;
  EXPECT_EQ(sources_.sweep(now), 0u);
  ASSERT_TRUE(sources_.write(id_, program_).ok());
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  const std::string dead = folder_ + ".partial-" + std::to_string(child) + "-0";
  const std::string mine = folder_ + ".partial-" + std::to_string(::getpid()) + "-0";
  fs::create_directory(dead);
  fs::create_directory(mine);
  EXPECT_EQ(sources_.sweep(now + 13 * kDay), 1u);
  EXPECT_FALSE(fs::exists(dead));
  EXPECT_TRUE(fs::exists(mine));
  EXPECT_TRUE(fs::exists(folder_));
  EXPECT_EQ(sources_.sweep(now + 15 * kDay), 1u);
  EXPECT_FALSE(fs::exists(folder_));
}

TEST_F(Sources, WhatIsNoIdentifierNeverBecomesAPath) {
  EXPECT_EQ(sources_.write("../x", program_).code(), Code::kInternal);
}

}  // namespace
}  // namespace anelane::apple
