// The arena: really there, of a size that nobody can change, and refused when it is not what it should be.
#include "worker/arena.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace anelane::worker {
namespace {

TEST(Arena, IsSharedZeroedAndAboveStdio) {
  const auto host = Arena::create(100'000);
  ASSERT_TRUE(host.ok()) << host.status().message();
  EXPECT_GE((*host)->fd(), 3);
  EXPECT_EQ((*host)->data()[99'999], 0);
  const auto worker = Arena::attach(UniqueFd(::fcntl((*host)->fd(), F_DUPFD_CLOEXEC, 3)), 100'000);
  ASSERT_TRUE(worker.ok()) << worker.status().message();
  (*host)->data()[12'345] = 42;
  EXPECT_EQ((*worker)->data()[12'345], 42);
}

TEST(Arena, NobodyCanChangeTheSize) {
  const auto arena = Arena::create(1 << 16);
  ASSERT_TRUE(arena.ok());
  EXPECT_NE(::ftruncate((*arena)->fd(), 1 << 12), 0);
  EXPECT_EQ(errno, EPERM);
  EXPECT_NE(::ftruncate((*arena)->fd(), 1 << 20), 0);
  EXPECT_NE(::fallocate((*arena)->fd(), 0, 1 << 16, 1 << 16), 0);
  EXPECT_NE(::fcntl((*arena)->fd(), F_ADD_SEALS, F_SEAL_WRITE), 0) << "the seals themselves are sealed";
}

TEST(Arena, PagesExistBeforeTheyAreTouched) {
  const auto arena = Arena::create(8 << 20);
  ASSERT_TRUE(arena.ok());
  struct stat st {};
  ASSERT_EQ(::fstat((*arena)->fd(), &st), 0);
  EXPECT_GE(static_cast<uint64_t>(st.st_blocks) * 512, uint64_t{8} << 20);
}

TEST(Arena, MoreThanTheMachineHasIsOutOfMemory) {
  const auto arena = Arena::create(size_t{1} << 46);
  ASSERT_FALSE(arena.ok());
  EXPECT_EQ(arena.status().code(), Code::kOutOfMemory) << arena.status().message();
}

TEST(Arena, AttachRefusesWhatIsNotTheAnnouncedSealedMemory) {
  EXPECT_EQ(Arena::attach(UniqueFd(), 4096).status().code(), Code::kProtocol);
  const auto arena = Arena::create(4096);
  ASSERT_TRUE(arena.ok());
  const auto wrong_size = Arena::attach(UniqueFd(::dup((*arena)->fd())), 8192);
  EXPECT_EQ(wrong_size.status().code(), Code::kProtocol);
  EXPECT_NE(wrong_size.status().message().find("8192"), std::string::npos);
  UniqueFd unsealed(::memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(unsealed.get(), 4096), 0);
  EXPECT_EQ(Arena::attach(std::move(unsealed), 4096).status().code(), Code::kProtocol);
  UniqueFd file(::open("/tmp", O_TMPFILE | O_RDWR, 0600));
  if (file) {
    ASSERT_EQ(::ftruncate(file.get(), 4096), 0);
    EXPECT_EQ(Arena::attach(std::move(file), 4096).status().code(), Code::kProtocol);
  }
}

TEST(Arena, HoldsJudgesEveryEdge) {
  const auto arena = Arena::create(4096);
  ASSERT_TRUE(arena.ok());
  EXPECT_TRUE((*arena)->holds(0, 4096));
  EXPECT_TRUE((*arena)->holds(4096, 0));
  EXPECT_FALSE((*arena)->holds(4097, 0));
  EXPECT_FALSE((*arena)->holds(1, 4096));
  EXPECT_FALSE((*arena)->holds(~uint64_t{0}, 2)) << "offset + bytes wraps around";
  EXPECT_FALSE((*arena)->holds(64, ~uint64_t{0}));
  EXPECT_FALSE((*arena)->holds(32, 64, 64));
  EXPECT_TRUE((*arena)->holds(64, 64, 64));
}

}  // namespace
}  // namespace anelane::worker
