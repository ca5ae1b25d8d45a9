// The vault: whole entries or none, whatever writers, killers and full disks do.
#include "ane_direct/soft/program_store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "ane_direct/content_id.h"
#include "base/limits.h"
#include "soft_harness.h"

namespace anelane::soft {
namespace {

namespace fs = std::filesystem;

std::string id_of(const std::string& mil) {
  return content_id({mil, {}, ""});
}

std::vector<uint8_t> plan_of(const std::string& text, size_t size = 50000) {
  std::vector<uint8_t> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(text[i % text.size()]);
  return bytes;
}

ProgramStore open_store(const TempFolder& folder, const std::string& build = "b1") {
  auto store = ProgramStore::open({folder.path(), build, "anelane-worker", 0, {}});
  EXPECT_TRUE(store.ok()) << store.status().message();
  return *std::move(store);
}

size_t entries(const std::string& path) {
  size_t count = 0;
  for (const auto& entry : fs::directory_iterator(path)) {
    (void)entry;
    ++count;
  }
  return count;
}

TEST(ProgramStore, EntriesLieWhereTheDaemonKeepsThem) {
  const TempFolder folder;
  const ProgramStore store = open_store(folder);
  const std::string id = id_of("a");
  ASSERT_TRUE(store.store(id, plan_of("abc")).ok());
  const std::string path = folder.path() + "/b1/InMemoryModelCache/anelane-worker/" + id + "/model.plan";
  EXPECT_TRUE(is_regular_file(path));
  struct stat st {};
  ASSERT_EQ(::stat((folder.path() + "/b1").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0700u);
  EXPECT_EQ(entries(store.folder()), 1u);  // no staging left
  const auto fetched = store.fetch(id);
  ASSERT_TRUE(fetched.ok());
  const auto expected = plan_of("abc");
  EXPECT_TRUE(std::equal(fetched->begin(), fetched->end(), expected.begin(), expected.end(),
                         [](char a, uint8_t b) { return static_cast<uint8_t>(a) == b; }));
}

TEST(ProgramStore, VaultsOfOtherSignersAreOthersAndNamesArePlain) {
  const TempFolder folder;
  ASSERT_TRUE(open_store(folder).store(id_of("a"), plan_of("x")).ok());
  EXPECT_FALSE(ProgramStore::open({folder.path(), "b1", "python3", 0, {}})->fetch(id_of("a")).ok());
  EXPECT_TRUE(open_store(folder).fetch(id_of("a")).ok());
  for (const char* bad : {"", ".", "..", "a/b", ".hidden"}) {
    EXPECT_EQ(ProgramStore::open({folder.path(), bad, "s", 0, {}}).status().code(), Code::kInvalidArgument)
        << bad;
    EXPECT_EQ(ProgramStore::open({folder.path(), "b", bad, 0, {}}).status().code(), Code::kInvalidArgument)
        << bad;
  }
}

TEST(ProgramStore, NamesThatAreNoIdentifiersNeverBecomePaths) {
  const TempFolder folder;
  const ProgramStore store = open_store(folder);
  for (const char* bad : {"", "..", "../../x", "/etc/passwd"}) {
    EXPECT_EQ(store.fetch(bad).status().code(), Code::kInvalidArgument);
    EXPECT_EQ(store.store(bad, plan_of("x")).code(), Code::kInvalidArgument);
  }
}

TEST(ProgramStore, DamagedEntriesAreReplaced) {
  const TempFolder folder;
  const ProgramStore store = open_store(folder);
  const std::string id = id_of("a"), entry = store.folder() + "/" + id, file = entry + "/model.plan";
  const auto good = [&] {
    const auto fetched = store.fetch(id);
    return fetched.ok() && fetched->size() == 50000;
  };
  ASSERT_TRUE(store.store(id, plan_of("x")).ok());
  fs::resize_file(file, 0);
  ASSERT_TRUE(store.store(id, plan_of("x")).ok());
  EXPECT_TRUE(good());
  fs::remove(file);  // an entry without its file
  ASSERT_TRUE(store.store(id, plan_of("x")).ok());
  EXPECT_TRUE(good());
  fs::remove_all(entry);
  std::ofstream(entry) << "a file";  // a file where the entry belongs
  ASSERT_TRUE(store.store(id, plan_of("x")).ok());
  EXPECT_TRUE(good());
  fs::remove(file);
  fs::create_directories(file + "/sub");  // a folder where the file belongs
  ASSERT_TRUE(store.store(id, plan_of("x")).ok());
  EXPECT_TRUE(good());
  EXPECT_EQ(entries(store.folder()), 1u);
}

TEST(ProgramStore, F75_ConcurrentWritersNeverShowAMixture) {
  const TempFolder folder;
  const ProgramStore store = open_store(folder);
  const std::string id = id_of("a");
  ASSERT_TRUE(store.store(id, plan_of("a")).ok());
  std::vector<pid_t> writers;
  for (const char* text : {"a", "b", "c"}) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      const auto bytes = plan_of(text);
      for (int i = 0; i < 1000; ++i)
        if (!store.store(id, bytes).ok()) ::_exit(1);
      ::_exit(0);
    }
    writers.push_back(pid);
  }
  int seen = 0;
  for (size_t running = writers.size(); running != 0;) {
    const auto fetched = store.fetch(id);
    ASSERT_TRUE(fetched.ok()) << fetched.status().message();
    ASSERT_EQ(fetched->size(), 50000u);
    ASSERT_EQ(fetched->find_first_not_of((*fetched)[0]), std::string::npos);
    ++seen;
    int status = 0;
    if (::waitpid(-1, &status, WNOHANG) > 0) {
      --running;
      EXPECT_EQ(WEXITSTATUS(status), 0);
    }
  }
  EXPECT_GT(seen, 10);
  EXPECT_EQ(entries(store.folder()), 1u);
}

TEST(ProgramStore, F6_StagingOfDeadWritersIsSweptThatOfLiveOnesIsNot) {
  const TempFolder folder;
  const ProgramStore store = open_store(folder);
  const auto bytes = plan_of("x", 8u << 20);
  for (int round = 0; round < 5; ++round) {  // writers killed at any point
    const pid_t pid = ::fork();
    if (pid == 0) {
      for (int i = 0;; ++i) (void)store.store(id_of(std::to_string(i % 3)), bytes);
    }
    ::usleep(20'000 + static_cast<useconds_t>(round) * 7000);
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
  fs::create_directory(store.folder() + "/.staging-999999-1-1");  // certainly one
  std::ofstream(store.folder() + "/.staging-999999-1-1/model.plan") << "half";

  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t live = ::fork();
  if (live == 0) {  // a writer that holds its staging folder
    const std::string path = store.folder() + "/.staging-live";
    ::mkdir(path.c_str(), 0700);
    const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY);
    if (::flock(fd, LOCK_EX) == 0) (void)!::write(ready[1], "x", 1);
    ::pause();
    ::_exit(0);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  open_store(folder);
  size_t staging = 0, entry = 0;
  for (const auto& item : fs::directory_iterator(store.folder())) {
    const std::string name = item.path().filename();
    if (name.starts_with(".staging-")) ++staging;
    if (is_content_id(name)) ++entry;
  }
  EXPECT_EQ(staging, 1u);
  EXPECT_LE(entry, 3u);
  for (int i = 0; i < 3; ++i) {
    const auto fetched = store.fetch(id_of(std::to_string(i)));
    if (fetched.ok()) {
      EXPECT_EQ(fetched->size(), bytes.size());
    }
  }
  ::kill(live, SIGKILL);
  ::waitpid(live, nullptr, 0);
  ::close(ready[0]);
  ::close(ready[1]);
  open_store(folder);
  EXPECT_FALSE(is_folder(store.folder() + "/.staging-live"));
}

TEST(ProgramStore, AFailedWriteNamesThePathAndLeavesNothing) {
  const TempFolder folder;
  const ProgramStore store = open_store(folder);
  // No file of this process may grow beyond 4 KiB: the write fails half-way, as on a full disk; and the
  // signal for it, whose default is the end of the process, does not come.
  rlimit old{};
  ::getrlimit(RLIMIT_FSIZE, &old);
  const rlimit small{4096, old.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  const Status status = store.store(id_of("a"), plan_of("x"));
  ::setrlimit(RLIMIT_FSIZE, &old);
  EXPECT_EQ(status.code(), Code::kIo);
  EXPECT_NE(status.message().find(store.folder()), std::string::npos) << status.message();
  EXPECT_EQ(entries(store.folder()), 0u);
}

TEST(ProgramStore, AVaultThatCannotBeMadeIsAnErrorWithItsPath) {
  const TempFolder folder;
  std::ofstream(folder.path() + "/file") << "x";
  const auto store = ProgramStore::open({folder.path() + "/file", "b", "s", 0, {}});
  EXPECT_EQ(store.status().code(), Code::kIo);
  EXPECT_NE(store.status().message().find(folder.path() + "/file"), std::string::npos);
}

}  // namespace
}  // namespace anelane::soft
