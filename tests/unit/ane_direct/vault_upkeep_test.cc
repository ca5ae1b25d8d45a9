// The daemon's own rules for its vaults: another system build, 14 days, once a day, and no more than fits.
#include "ane_direct/soft/vault_upkeep.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>

#include "ane_direct/content_id.h"
#include "ane_direct/soft/program_store.h"
#include "base/limits.h"
#include "base/log.h"
#include "soft_harness.h"

namespace anelane::soft {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kDay = 24 * 3600;
constexpr int64_t kStart = 1'700'000'000;

std::string id_of(const std::string& mil) {
  return content_id({mil, {}, ""});
}

// One cache folder at a time that the test sets.
class VaultUpkeep : public ::testing::Test {
 protected:
  ProgramStore open(const std::string& build = "b1", const std::string& signer = "anelane-worker",
                    uint64_t ceiling = 0) {
    auto store = ProgramStore::open({folder_.path(), build, signer, ceiling, [this] { return now_; }});
    EXPECT_TRUE(store.ok()) << store.status().message();
    return *std::move(store);
  }
  void put(const ProgramStore& store, const std::string& name, size_t bytes = 1000) {
    const Status status = store.store(id_of(name), std::vector<uint8_t>(bytes, 7));
    EXPECT_TRUE(status.ok()) << status.message();
  }
  static bool holds(const ProgramStore& store, const std::string& name) {
    return is_regular_file(store.folder() + "/" + id_of(name) + "/model.plan");
  }

  const TempFolder folder_;
  int64_t now_ = kStart;
};

TEST_F(VaultUpkeep, ANewBuildDropsTheOldOnesVaultsAndNothingElse) {
  const ProgramStore old = open("b1"), other = open("b1", "python3");
  put(old, "a");
  put(other, "a");
  fs::create_directories(folder_.path() + "/notes");  // nothing of ours
  std::ofstream(folder_.path() + "/notes/InMemoryModelCache") << "a file of that name";
  fs::create_directories(folder_.path() + "/b0/InMemoryModelCache/mine/keepsake");
  const ProgramStore fresh = open("b2");
  EXPECT_FALSE(fs::exists(folder_.path() + "/b1"));
  EXPECT_FALSE(fresh.fetch(id_of("a")).ok());
  EXPECT_TRUE(fs::exists(folder_.path() + "/notes/InMemoryModelCache"));
  EXPECT_TRUE(fs::exists(folder_.path() + "/b0/InMemoryModelCache/mine/keepsake"));
  put(fresh, "a");
  put(old, "a");  // a process of the old system that is still there makes its folder again
  EXPECT_TRUE(open("b2").fetch(id_of("a")).ok());
}

TEST_F(VaultUpkeep, LinksInTheCacheFolderAreNotFollowed) {
  const TempFolder elsewhere;
  const std::string cache = folder_.path(), entry = "/InMemoryModelCache/signer/" + id_of("a");
  const auto make_entry = [](const std::string& path) {
    fs::create_directories(path);
    std::ofstream(path + "/model.plan") << "plan";
  };
  make_entry(elsewhere.path() + "/build" + entry);
  fs::create_directory_symlink(elsewhere.path() + "/build", cache + "/b0");
  make_entry(elsewhere.path() + "/caches" + entry);
  fs::create_directories(cache + "/b1");
  fs::create_directory_symlink(elsewhere.path() + "/caches/InMemoryModelCache",
                               cache + "/b1/InMemoryModelCache");
  make_entry(elsewhere.path() + "/signers" + entry);
  fs::create_directories(cache + "/b2/InMemoryModelCache");
  fs::create_directory_symlink(elsewhere.path() + "/signers/InMemoryModelCache/signer",
                               cache + "/b2/InMemoryModelCache/signer");
  open("b3");  // of another build
  now_ += 20 * kDay;
  open("b3", "signer", 1);  // a day's upkeep, and a ceiling
  for (const char* kind : {"/build", "/caches", "/signers"})
    EXPECT_TRUE(fs::exists(elsewhere.path() + kind + entry + "/model.plan")) << kind;
}

TEST_F(VaultUpkeep, APipeInThePlaceOfTheMarkKeepsNobodyWaiting) {
  ASSERT_EQ(::mkfifo((folder_.path() + "/.last-upkeep").c_str(), 0600), 0);
  const timespec long_ago[2] = {{1, 0}, {1, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, (folder_.path() + "/.last-upkeep").c_str(), long_ago, 0), 0);
  const ProgramStore store = open();
  put(store, "a");
  EXPECT_TRUE(holds(store, "a"));
}

TEST_F(VaultUpkeep, AnOpenOfTheSameBuildDropsNothing) {
  put(open(), "a");
  open("b1", "python3");
  EXPECT_TRUE(open().fetch(id_of("a")).ok());
}

TEST_F(VaultUpkeep, EntriesUnusedForFourteenDaysGoAndUseCounts) {
  const ProgramStore store = open(), other = open("b1", "python3");
  put(store, "unused");
  put(store, "used");
  put(other, "unused too");
  now_ = kStart + 2 * kDay;
  put(store, "younger");
  ASSERT_TRUE(store.fetch(id_of("used")).ok());
  now_ = kStart + limits::kVaultUnusedSeconds;
  open();
  EXPECT_TRUE(holds(store, "unused"));  // not at 14 days, but after them
  now_ = kStart + limits::kVaultUnusedSeconds + kDay;
  open();
  EXPECT_FALSE(holds(store, "unused"));
  EXPECT_FALSE(holds(other, "unused too"));
  EXPECT_TRUE(holds(store, "used"));
  EXPECT_TRUE(holds(store, "younger"));
}

TEST_F(VaultUpkeep, TheUpkeepIsDoneOnceADay) {
  const ProgramStore store = open();
  put(store, "a");
  const timespec old[2] = {{kStart - 20 * kDay, 0}, {kStart - 20 * kDay, 0}};
  ::utimensat(AT_FDCWD, (store.folder() + "/" + id_of("a") + "/model.plan").c_str(), old, 0);
  now_ = kStart + kDay - 1;
  open();
  EXPECT_TRUE(holds(store, "a"));
  now_ = kStart + kDay;
  open();
  EXPECT_FALSE(holds(store, "a"));
}

TEST_F(VaultUpkeep, AClockThatWentBackDoesNotEndTheUpkeep) {
  const ProgramStore store = open();
  put(store, "a");
  now_ = kStart - 420 * kDay;
  put(store, "old");
  now_ = kStart - 400 * kDay;
  open();  // the mark lies in the future: as none
  EXPECT_FALSE(holds(store, "old"));
  EXPECT_TRUE(holds(store, "a"));
  now_ += limits::kVaultUnusedSeconds;
  put(store, "b");
  open();
  EXPECT_TRUE(holds(store, "b"));
}

TEST_F(VaultUpkeep, TheLeastRecentlyUsedGoWhereThereIsACeiling) {
  const ProgramStore store = open("b1", "anelane-worker", 3500);
  const ProgramStore other = open("b1", "python3", 3500);
  put(store, "first");
  ++now_;
  put(other, "second");
  ++now_;
  put(store, "third");
  ++now_;
  ASSERT_TRUE(store.fetch(id_of("first")).ok());
  ++now_;
  put(store, "fourth");
  EXPECT_TRUE(holds(store, "first"));
  EXPECT_FALSE(holds(other, "second"));  // of whatever signer
  EXPECT_TRUE(holds(store, "third"));
  EXPECT_TRUE(holds(store, "fourth"));
  ++now_;
  put(store, "large", 3000);  // as many as it takes
  EXPECT_FALSE(holds(store, "first"));
  EXPECT_FALSE(holds(store, "third"));
  EXPECT_FALSE(holds(store, "fourth"));
  EXPECT_TRUE(holds(store, "large"));
  now_ -= 1000;  // a clock that went back makes the new one the oldest: it stays all the same
  put(store, "new", 2000);
  EXPECT_TRUE(holds(store, "new"));
  EXPECT_FALSE(holds(store, "large"));
  now_ += 1000;
  put(store, "large", 3000);
  const Status refused = store.store(id_of("huge"), std::vector<uint8_t>(3501));
  EXPECT_EQ(refused.code(), Code::kResourcesExhausted);
  EXPECT_TRUE(holds(store, "large"));
}

TEST_F(VaultUpkeep, AnEngineWithACeilingServesProgramsThatDoNotFit) {
  SoftEngineOptions options = test_options(folder_);
  options.cache_ceiling = 300;  // less than any plan
  auto engine = make_soft_engine(options);
  ASSERT_TRUE(engine.ok());
  MilWriter mil;
  mil.output("y", mil.relu(mil.input("x", {1, 4, 1, 64})));
  ASSERT_NE(load_fresh(**engine, *std::move(mil).finish()), nullptr);
}

std::atomic<int> g_warnings{0};

// A file system of 1 MiB at `path`, for this process alone.
bool mount_small_disk(const std::string& path) {
  const std::string user = "0 " + std::to_string(::geteuid()) + " 1";
  const std::string group = "0 " + std::to_string(::getegid()) + " 1";
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  for (const auto& [file, text] :
       {std::pair<std::string, std::string>{"setgroups", "deny"}, {"uid_map", user}, {"gid_map", group}})
    if (!(std::ofstream("/proc/self/" + file) << text).flush()) return false;
  return ::mount("tmpfs", path.c_str(), "tmpfs", 0, "size=1m") == 0;
}

// In a child, with its cache on such a disk. What comes out is the exit status.
int on_a_full_disk(const std::string& path) {
  if (!mount_small_disk(path)) return 77;
  set_log([](void*, int32_t, const char*) { ++g_warnings; }, nullptr, LogLevel::kWarn);
  SoftEngineOptions options;
  options.cache_dir = path;
  options.signing_identifier = "anelane-worker";
  options.os_build = "test-1";
  options.threads = 1;
  auto engine = make_soft_engine(options);
  if (!engine.ok()) return 2;
  MilWriter mil;
  const auto x = mil.input("x", {1, 1024, 1, 64});
  mil.output("y", mil.conv(x, mil.weight({1024, 1024, 1, 1}, std::vector<float>(1u << 20, 0x1p-10f))));
  const auto program = std::move(mil).finish();
  const std::string id = (*engine)->identify(*program);
  if (!(*engine)->compile(id, *program).ok()) return 3;
  if (g_warnings != 1) return 4;
  if (!(*engine)->probe(id) || !(*engine)->load(id).ok()) return 5;
  for (const auto& item : fs::recursive_directory_iterator(path))
    if (item.path().filename().string().starts_with(".staging")) return 6;
  return 0;
}

TEST_F(VaultUpkeep, F76_AFullDiskCompilesUncachedWithOneWarning) {
  const std::string path = folder_.path() + "/disk";
  fs::create_directories(path);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(on_a_full_disk(path));
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "this user may not mount a file system of its own";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace anelane::soft
