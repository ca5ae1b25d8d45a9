// What is staged, that it goes, and that nobody else's is touched.
#include "ane_direct/apple/staging.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "ane_direct/content_id.h"
#include "support/tiny_checkpoint.h"

namespace anelane::apple {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> files_below(const std::string& folder) {
  std::vector<std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    found.push_back(fs::relative(entry.path(), folder).string());
  std::sort(found.begin(), found.end());
  return found;
}

class Staging : public testing::Test {
 protected:
  const Program program_{"program(1.3)\n{}\n", {1, 2, 3, 4}, ""};
  const std::string id_ = content_id(program_);
  TempFolder temp_;
  StagingArea area_{temp_.path()};
  const std::string folder_ = temp_.file(id_);
  const std::string lock_ = temp_.file("anelane-staging/" + id_ + ".lock");
};

TEST_F(Staging, ExactlyTheTwoFilesAsRealFilesWithTheVeryBytes) {
  const auto staged = area_.stage(id_, folder_, program_, 0);
  ASSERT_TRUE(staged.ok()) << staged.status().message();
  EXPECT_EQ(files_below(folder_), (std::vector<std::string>{"model.mil", "weights", "weights/weight.bin"}));
  EXPECT_EQ(*read_file(folder_ + "/model.mil", 1000), program_.mil);
  EXPECT_EQ(*read_file(folder_ + "/weights/weight.bin", 1000), std::string("\1\2\3\4"));
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(folder_ + "/model.mil")));
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(folder_ + "/weights/weight.bin")));
}

TEST_F(Staging, AProgramWithoutWeightsHasNoWeightFile) {
  const Program bare{"program(1.3)\n{}\n", {}, ""};
  const std::string id = content_id(bare);
  const auto staged = area_.stage(id, temp_.file(id), bare, 0);
  ASSERT_TRUE(staged.ok());
  EXPECT_EQ(files_below(temp_.file(id)), (std::vector<std::string>{"model.mil"}));
}

TEST_F(Staging, NothingIsLeftWhenItEnds) {
  { ASSERT_TRUE(area_.stage(id_, folder_, program_, 0).ok()); }
  EXPECT_EQ(files_below(temp_.path()), (std::vector<std::string>{"anelane-staging"}));
}

TEST_F(Staging, TheLockLiesBesideTheFolderNotInIt) {
  const auto staged = area_.stage(id_, folder_, program_, 0);
  ASSERT_TRUE(staged.ok());
  EXPECT_TRUE(fs::exists(lock_));
}

TEST_F(Staging, LinksAndForeignFilesInItsPlaceAreReplacedNotFollowed) {
  fs::create_directory(temp_.file("elsewhere"));
  ASSERT_TRUE(write_file_atomic(temp_.file("elsewhere/keep"), "kept").ok());
  fs::create_directory_symlink(temp_.file("elsewhere"), folder_);
  { ASSERT_TRUE(area_.stage(id_, folder_, program_, 0).ok()); }
  EXPECT_EQ(files_below(temp_.file("elsewhere")), (std::vector<std::string>{"keep"}));
  fs::create_directory(folder_);
  ASSERT_TRUE(write_file_atomic(folder_ + "/net.plist", "of an earlier compile").ok());
  const auto staged = area_.stage(id_, folder_, program_, 0);
  ASSERT_TRUE(staged.ok());
  EXPECT_FALSE(fs::exists(folder_ + "/net.plist"));
}

TEST_F(Staging, TheSameProgramIsStagedByOneAtATime) {
  auto first = area_.stage(id_, folder_, program_, 0);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(area_.stage(id_, folder_, program_, 1).status().code(), Code::kDeadlineExceeded);
  std::thread ender([&] { first->remove(); });
  const auto second = area_.stage(id_, folder_, program_, 10'000);
  ender.join();
  ASSERT_TRUE(second.ok()) << second.status().message();
  EXPECT_TRUE(fs::exists(folder_ + "/model.mil"));
}

TEST_F(Staging, AnUnloadTakesTheLockOnlyWhereThereIsOneAndMakesNone) {
  EXPECT_FALSE(area_.lock_if_staged(id_, 0).held());
  EXPECT_TRUE(fs::is_empty(temp_.path())) << "asking must not write";
  const auto staged = area_.stage(id_, folder_, program_, 0);
  EXPECT_FALSE(area_.lock_if_staged(id_, 1).held()) << "somebody else stages it";
}

TEST_F(Staging, ASweepRemovesWhatAKilledProcessLeftAndNothingElse) {
  EXPECT_EQ(area_.sweep(), 0u);
  EXPECT_TRUE(fs::is_empty(temp_.path())) << "a sweep must not write";
  const Program other{"program(1.3)\n{ }\n", {9}, ""};
  const std::string other_id = content_id(other);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto staged = area_.stage(id_, folder_, program_, 0);
    ::kill(::getpid(), staged.ok() ? SIGKILL : SIGTERM);
  }
  int how = 0;
  ASSERT_EQ(::waitpid(child, &how, 0), child);
  ASSERT_EQ(WTERMSIG(how), SIGKILL);
  ASSERT_TRUE(fs::exists(folder_ + "/model.mil"));
  ASSERT_TRUE(fs::exists(lock_));
  const auto living = area_.stage(other_id, temp_.file(other_id), other, 0);
  ASSERT_TRUE(living.ok());
  fs::create_directory(temp_.file(std::string(64, 'A')));  // not a name of ours
  const std::string unmarked = std::string(64, 'B') + "_" + std::string(64, 'B') + "_" + std::string(64, 'B');
  fs::create_directory(temp_.file(unmarked));  // of somebody else: no marker
  EXPECT_EQ(area_.sweep(), 1u);
  EXPECT_FALSE(fs::exists(folder_));
  EXPECT_FALSE(fs::exists(lock_));
  EXPECT_TRUE(fs::exists(temp_.file(other_id) + "/model.mil"));
  EXPECT_TRUE(fs::exists(temp_.file(std::string(64, 'A'))));
  EXPECT_TRUE(fs::exists(temp_.file(unmarked)));
}

TEST_F(Staging, ASweepFollowsNoLink) {
  fs::create_directory(temp_.file("elsewhere"));
  ASSERT_TRUE(write_file_atomic(temp_.file("elsewhere/keep"), "kept").ok());
  fs::create_directory(temp_.file("anelane-staging"));
  ASSERT_TRUE(write_file_atomic(lock_, "").ok());
  fs::create_directory_symlink(temp_.file("elsewhere"), folder_);
  EXPECT_EQ(area_.sweep(), 0u);
  EXPECT_TRUE(fs::exists(temp_.file("elsewhere/keep")));
}

TEST_F(Staging, WhatIsNoIdentifierNeverBecomesAPath) {
  EXPECT_EQ(area_.stage("../x", temp_.file("x"), program_, 0).status().code(), Code::kInternal);
  EXPECT_FALSE(area_.lock_if_staged("../x", 0).held());
}

}  // namespace
}  // namespace anelane::apple
