// An entry is one file under a folder of its own, put there by a rename. "Used" is the file's modification
// time, in the daemon's clock, which knob now_offset_s moves. The day of the last maintenance is the time of
// the file <root>/maintained. Any number of processes at once; no state but the folders.
#include "vault.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>
#include <vector>

#include "base/file.h"
#include "base/limits.h"
#include "daemon.h"
#include "knobs.h"
#include "standin.h"

namespace fs = std::filesystem;

namespace standin {
namespace {

constexpr long kDayS = 24 * 60 * 60;
constexpr long kUnusedS = 14 * kDayS;
constexpr const char* kVaults[] = {"InMemoryModelCache", "ModelAssetsCache"};

std::string os_build() {
  return knob("os_build", standin_system() >= 27 ? "26A434" : "25D125");
}

time_t now_s() {
  return ::time(nullptr) + standin_knob_number("now_offset_s", 0);
}

void touch(const std::string& path) {
  const timespec now{now_s(), 0};
  const timespec both[2] = {now, now};
  ::utimensat(AT_FDCWD, path.c_str(), both, 0);
}

// What a full vault did not take: for the loads of this process only.
std::mutex g_unsaved_mutex;
std::map<std::string, std::string>& unsaved() {
  static auto* const entries = new std::map<std::string, std::string>;
  return *entries;
}

struct Entry {
  time_t used;
  uint64_t bytes;
  std::string file;
};

std::vector<Entry> all_entries() {
  std::vector<Entry> entries;
  std::error_code ignored;
  for (fs::recursive_directory_iterator at(root_folder() + "/" + os_build(), ignored), end; at != end;
       at.increment(ignored)) {
    struct stat st {};
    if (at->path().filename() == "model.hwx" && ::lstat(at->path().c_str(), &st) == 0)
      entries.push_back({st.st_mtim.tv_sec, static_cast<uint64_t>(st.st_size), at->path().string()});
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.used < b.used; });
  return entries;
}

void relieve_pressure() {
  const long most = standin_knob_number("vault_bytes_max", 0);
  if (most <= 0) return;
  std::vector<Entry> entries = all_entries();
  uint64_t bytes = 0;
  for (const Entry& entry : entries) bytes += entry.bytes;
  for (const Entry& entry : entries) {
    if (bytes <= static_cast<uint64_t>(most)) break;
    purge_entry(entry.file);
    bytes -= entry.bytes;
  }
}

}  // namespace

std::string root_folder() {
  const std::string root = knob("root", "/tmp/ane-standin-" + std::to_string(::getuid()));
  (void)anelane::make_folders(root, 0700);
  return root;
}

std::string entry_file(bool client, const std::string& id) {
  char signer[256];
  if (!standin_signing_id(signer, sizeof(signer))) return "";
  if (id.empty() || id.find('/') != std::string::npos || id[0] == '.') return "";
  return root_folder() + "/" + os_build() + "/" + kVaults[client ? 1 : 0] + "/" + signer + "/" + id +
         "/model.hwx";
}

bool entry_exists(const std::string& path) {
  if (path.empty()) return false;
  const anelane::Result<anelane::MappedFile> file = anelane::MappedFile::open(path);
  return file.ok() && !file->bytes().empty();
}

anelane::Status store_entry(const std::string& path, std::span<const uint8_t> bytes) {
  const std::lock_guard lock(g_unsaved_mutex);
  unsaved().erase(path);
  if (standin_knob_number("vault_full", 0) != 0) {
    unsaved()[path].assign(bytes.begin(), bytes.end());
    return {};
  }
  if (const anelane::Status made = anelane::make_folders(fs::path(path).parent_path().string(), 0700);
      !made.ok())
    return made;
  if (const anelane::Status written = anelane::write_file_atomic(path, bytes); !written.ok()) return written;
  touch(path);
  relieve_pressure();
  return {};
}

anelane::Result<std::string> fetch_entry(const std::string& path) {
  anelane::Result<std::string> bytes = anelane::read_file(path, anelane::limits::kMaxPlanFile + 4096);
  if (bytes.ok()) {
    touch(path);
    return bytes;
  }
  const std::lock_guard lock(g_unsaved_mutex);
  const auto found = unsaved().find(path);
  if (found == unsaved().end()) return bytes;
  return found->second;
}

void purge_entry(const std::string& path) {
  if (!path.empty()) (void)anelane::remove_tree(fs::path(path).parent_path().string());
}

void maintain_vault() {
  const std::string root = root_folder();
  std::error_code ignored;
  for (fs::directory_iterator at(root, ignored), end; at != end; at.increment(ignored)) {
    const fs::path vault = at->path();
    if (vault.filename() == os_build()) continue;
    if (fs::exists(vault / kVaults[0], ignored) || fs::exists(vault / kVaults[1], ignored))
      (void)anelane::remove_tree(vault.string());
  }
  const std::string marker = root + "/maintained";
  struct stat st {};
  if (::stat(marker.c_str(), &st) == 0 && now_s() - st.st_mtim.tv_sec < kDayS) return;
  (void)anelane::write_file_atomic(marker, std::string_view());
  touch(marker);
  for (const Entry& entry : all_entries())
    if (now_s() - entry.used > kUnusedS) purge_entry(entry.file);
}

}  // namespace standin

bool standin_vault_file(bool client, const char* identifier, char* out, size_t room) {
  const std::string path = standin::entry_file(client, identifier);
  if (path.empty() || path.size() >= room) return false;
  std::copy(path.c_str(), path.c_str() + path.size() + 1, out);
  return true;
}
