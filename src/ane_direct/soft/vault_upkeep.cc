// Only what is certainly ours is ever removed: folders named by a content identifier, and staging folders, in
// a signer's folder of an InMemoryModelCache; and the folders above them once they are empty. Anything else
// in the cache folder is somebody else's, and a link below it, whatever it leads to, is not followed.
//
// "Used" is the file's modification time, which fetching an entry sets (program_store.cc): access times are
// not kept on most systems. Two processes may do all this at once; each removal is of a whole entry, and who
// finds an entry gone compiles it anew.
//
// No state but the files; any process and thread.
#include "ane_direct/soft/vault_upkeep.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "ane_direct/content_id.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/log.h"

namespace anelane::soft {
namespace {

constexpr const char* kMark = ".last-upkeep";

std::vector<std::string> list_folder(const std::string& path) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()), ::closedir);
  if (folder == nullptr) return names;
  while (const dirent* entry = ::readdir(folder.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  return names;
}

// A folder itself, not a link to one.
bool is_own_folder(const std::string& path) {
  struct stat st {};
  return ::lstat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode);
}

// Calls visit(folder of one signer) for each vault of one build.
template <class Visit>
void each_vault(const std::string& cache_dir, const std::string& build, Visit visit) {
  const std::string folder = join_path(cache_dir, build), vaults = join_path(folder, kVaultName);
  if (!is_own_folder(folder) || !is_own_folder(vaults)) return;
  for (const std::string& signer : list_folder(vaults)) {
    const std::string vault = join_path(vaults, signer);
    if (is_own_folder(vault)) visit(vault);
  }
}

template <class Visit>
void each_vault(const std::string& cache_dir, Visit visit) {
  for (const std::string& build : list_folder(cache_dir)) each_vault(cache_dir, build, visit);
}

struct Entry {
  std::string path;
  int64_t used_s = 0, used_ns = 0;
  uint64_t bytes = 0;
};

std::vector<Entry> entries_of(const std::string& vault) {
  std::vector<Entry> entries;
  for (const std::string& name : list_folder(vault)) {
    struct stat st {};
    const std::string path = join_path(vault, name);
    if (!is_content_id(name) || !is_own_folder(path) || ::stat(join_path(path, kPlanName).c_str(), &st) != 0)
      continue;
#ifdef __APPLE__
    const int64_t ns = st.st_mtimespec.tv_nsec;
#else
    const int64_t ns = st.st_mtim.tv_nsec;
#endif
    entries.push_back({path, st.st_mtime, ns, static_cast<uint64_t>(st.st_size)});
  }
  return entries;
}

void sweep_staging(const std::string& path) {
  const UniqueFd lock(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!lock || ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return;  // its writer lives
  if (remove_tree(path).ok()) log_line(LogLevel::kInfo, "swept the unfinished entry " + path);
}

bool is_due(const std::string& mark, int64_t now_s) {
  struct stat st {};
  if (::lstat(mark.c_str(), &st) != 0) return true;
  const int64_t age = now_s - static_cast<int64_t>(st.st_mtime);
  return age < 0 || age >= limits::kVaultUpkeepSeconds;
}

void set_mark(const std::string& mark, int64_t now_s) {
  // A pipe of that name must not keep us waiting for its reader.
  const UniqueFd fd(::open(mark.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  struct stat st {};
  if (!fd || ::fstat(fd.get(), &st) != 0 || !S_ISREG(st.st_mode)) return;
  const timespec now{static_cast<time_t>(now_s), 0};
  const timespec times[2] = {now, now};
  ::futimens(fd.get(), times);
}

}  // namespace

void drop_other_builds(const std::string& cache_dir, const std::string& os_build) {
  for (const std::string& build : list_folder(cache_dir)) {
    const std::string folder = join_path(cache_dir, build);
    if (build == os_build || !is_own_folder(folder) || !is_own_folder(join_path(folder, kVaultName)))
      continue;
    bool dropped = false;
    each_vault(cache_dir, build, [&](const std::string& vault) {
      sweep_unfinished(vault);
      for (const std::string& name : list_folder(vault))
        if (is_content_id(name)) dropped |= remove_tree(join_path(vault, name)).ok();
      ::rmdir(vault.c_str());
    });
    ::rmdir(join_path(folder, kVaultName).c_str());
    ::rmdir(folder.c_str());
    if (dropped)
      log_line(LogLevel::kInfo,
               "dropped the programs compiled for " + build + ": this system is " + os_build);
  }
}

void sweep_unfinished(const std::string& vault) {
  for (const std::string& name : list_folder(vault))
    if (name.starts_with(kStagingPrefix)) sweep_staging(join_path(vault, name));
}

void daily_upkeep(const std::string& cache_dir, int64_t now_s) {
  const std::string mark = join_path(cache_dir, kMark);
  if (!is_due(mark, now_s)) return;
  set_mark(mark, now_s);
  each_vault(cache_dir, [&](const std::string& vault) {
    sweep_unfinished(vault);
    for (const Entry& entry : entries_of(vault))
      if (now_s - entry.used_s > limits::kVaultUnusedSeconds && remove_tree(entry.path).ok())
        log_line(LogLevel::kInfo, "removed the entry " + entry.path + ": not used for 14 days");
  });
}

bool make_room(const std::string& cache_dir, uint64_t ceiling, const std::string& keep) {
  std::vector<Entry> entries;
  uint64_t total = 0;
  each_vault(cache_dir, [&](const std::string& vault) {
    for (Entry& entry : entries_of(vault)) {
      total += entry.bytes;
      entries.push_back(std::move(entry));
    }
  });
  if (total <= ceiling) return true;
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    if (a.used_s != b.used_s) return a.used_s < b.used_s;
    return a.used_ns != b.used_ns ? a.used_ns < b.used_ns : a.path < b.path;
  });
  for (const Entry& entry : entries) {
    if (total <= ceiling) break;
    if (entry.path == keep || !remove_tree(entry.path).ok()) continue;
    total -= entry.bytes;
    log_line(LogLevel::kInfo, "removed the entry " + entry.path + ": the cache may have " +
                                  std::to_string(ceiling >> 20) + " MiB");
  }
  return total <= ceiling;
}

}  // namespace anelane::soft
