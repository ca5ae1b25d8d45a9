// Where the lane lock lives (L1.5), and whether that place can be trusted: a folder of its own, ours, 0700,
// on a local file system. A lock on a network file system may be granted twice; in a folder that others can
// write, they can replace the file; behind a symlink it is not the place that everybody else of this user
// looks at.
//
// The folder is opened first and every check is made on what was opened. A wrong mode is put right, but only
// on a folder that is evidently a lane's own (empty, or holding our lock): an option that names somebody's
// home by mistake must not change the rights of it.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/cache_folder.h"
#include "lane/lane_files.h"
#include "lane/lane_lock.h"

#ifdef __APPLE__
#include <sys/mount.h>
#include <sys/param.h>
#else
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#endif

namespace anelane {
namespace {

constexpr unsigned kFolderMode = 0700;

Result<std::string> default_folder() {
#ifndef __APPLE__
  const std::string runtime = "/run/user/" + std::to_string(::geteuid());
  struct stat st {};
  if (::lstat(runtime.c_str(), &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == ::geteuid())
    return runtime + "/anelane";
#endif
  return user_cache_folder();
}

// Absolute, and without a slash at the end: with one, a symlink in the last place would be followed.
Result<std::string> normal_path(const std::string& option) {
  std::string path = option;
  if (path[0] != '/') {
    std::array<char, 4096> buffer{};
    if (::getcwd(buffer.data(), buffer.size()) == nullptr) return io_error("resolve", option, errno);
    path = join_path(buffer.data(), path);
  }
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

Status refused(const std::string& path, const std::string& why) {
  return error(Code::kIo, "the lane lock cannot live in " + path + ": " + why);
}

#ifndef __APPLE__
// The type of a FUSE mount as /proc/self/mountinfo names it, by device number; "" when it is not found.
std::string fuse_type(dev_t device) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen("/proc/self/mountinfo", "re"),
                                                             std::fclose);
  if (!file) return {};
  std::array<char, 8192> line{};
  while (std::fgets(line.data(), static_cast<int>(line.size()), file.get()) != nullptr) {
    unsigned major_number = 0, minor_number = 0;
    if (std::sscanf(line.data(), "%*d %*d %u:%u", &major_number, &minor_number) != 2) continue;
    if (major_number != major(device) || minor_number != minor(device)) continue;
    const char* type = std::strstr(line.data(), " - ");
    if (type == nullptr) continue;
    type += 3;
    return std::string(type, std::strcspn(type, " \n"));
  }
  return {};
}
#endif

Status check_local(int fd, const std::string& path, const struct stat& st) {
  struct statfs fs {};
  if (::fstatfs(fd, &fs) != 0) return io_error("examine the file system of", path, errno);
  std::string network;
#ifdef __APPLE__
  (void)st;
  if ((fs.f_flags & MNT_LOCAL) == 0) network = fs.f_fstypename;
#else
  constexpr uint64_t kFuse = 0x65735546;
  const uint64_t type = static_cast<uint64_t>(fs.f_type) & 0xffffffffu;
  if (const char* name = network_file_system(type)) network = name;
  if (type == kFuse) {
    const std::string fuse = fuse_type(st.st_dev);
    if (is_network_fuse(fuse)) network = fuse;
  }
#endif
  if (network.empty()) return {};
  return refused(path, "it is on a network file system (" + network +
                           "), where a lock may be granted twice; name a local folder");
}

bool is_lanes_own(const std::string& path) {
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(path.c_str()), ::closedir);
  if (!dir) return false;
  bool empty = true;
  while (const dirent* entry = ::readdir(dir.get())) {
    const std::string name = entry->d_name;
    if (name == lane_files::kLock) return true;
    if (name != "." && name != "..") empty = false;
  }
  return empty;
}

Status check_mode(int fd, const std::string& path, const struct stat& st, bool by_default) {
  const unsigned mode = st.st_mode & 07777u;
  if (mode == kFolderMode) return {};
  char text[8];
  std::snprintf(text, sizeof text, "%04o", mode);
  if (!by_default && !is_lanes_own(path))
    return refused(path, std::string("it has mode ") + text +
                             " (0700 is needed) and holds other files; name a folder of the lane's own");
  if (::fchmod(fd, kFolderMode) != 0) return io_error("make private (0700)", path, errno);
  return {};
}

// One name for one folder, however it was spelled: lanes of a process are told apart by it.
std::string one_name(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), std::free);
  return real ? std::string(real.get()) : path;
}

// The folder itself, never what a symlink in its place leads to.
Result<UniqueFd> open_folder(const std::string& path, struct stat* st) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return io_error("open the lane folder", path, errno);
  if (::fstat(fd.get(), st) != 0) return io_error("examine", path, errno);
  if (st->st_uid != ::geteuid())
    return refused(path, "it belongs to user " + std::to_string(st->st_uid) + ", not to user " +
                             std::to_string(::geteuid()) + " who runs this program");
  return fd;
}

// What stands in the folder's place and is none; before anything is created there.
Status check_place(const std::string& path) {
  struct stat st {};
  if (::lstat(path.c_str(), &st) != 0) {
    if (errno == ELOOP)
      return refused(path, "the symlinks on the way to it lead in a circle; name a real folder");
    return {};  // not there yet, or creating it will tell
  }
  if (!S_ISLNK(st.st_mode)) return {};
  if (::stat(path.c_str(), &st) == 0) return refused(path, "it is a symlink; name the folder it leads to");
  return refused(path, errno == ELOOP ? "it is a symlink that leads in a circle; name a real folder"
                                      : "it is a symlink that leads nowhere; name a real folder");
}

}  // namespace

const char* network_file_system(uint64_t f_type) {
  switch (f_type) {
    case 0x6969:
      return "NFS";
    case 0x517B:
    case 0xFF534D42:
    case 0xFE534D42:
      return "SMB";
    case 0x5346414F:
    case 0x6B414653:
      return "AFS";
    case 0x01021997:
      return "9P";
    case 0x00C36400:
      return "Ceph";
    case 0x73757245:
      return "Coda";
    case 0x564C:
      return "NCP";
    case 0x0BD00BD0:
      return "Lustre";
    case 0x01161970:
      return "GFS2";
    case 0x7461636F:
      return "OCFS2";
    case 0x47504653:
      return "GPFS";
    case 0x19830326:
      return "BeeGFS";
    default:
      return nullptr;
  }
}

bool is_network_fuse(const std::string& type) {
  for (const char* name :
       {"sshfs", "glusterfs", "ceph", "s3fs", "rclone", "davfs", "curlftpfs", "gcsfuse", "goofys", "blobfuse",
        "blobfuse2", "juicefs", "cephfs", "nfs", "smb", "mountpoint-s3", "gvfsd-fuse"})
    if (type == std::string("fuse.") + name) return true;
  return false;
}

Result<std::string> lane_folder(const std::string& option) {
  const bool by_default = option.empty();
  ANELANE_ASSIGN(std::string path, by_default ? default_folder() : normal_path(option));
  ANELANE_TRY(check_place(path));
  ANELANE_TRY(make_folders(path, kFolderMode));
  struct stat st {};
  ANELANE_ASSIGN(const UniqueFd fd, open_folder(path, &st));
  ANELANE_TRY(check_local(fd.get(), path, st));
  ANELANE_TRY(check_mode(fd.get(), path, st, by_default));
  return one_name(path);
}

std::string program_cache_folder(const std::string& lock_dir_option, const std::string& lane_folder) {
  const Result<std::string> users = user_cache_folder();
  return join_path(lock_dir_option.empty() && users.ok() ? *users : lane_folder, "programs");
}

Result<std::string> find_lane_folder(const std::string& option) {
  ANELANE_ASSIGN(std::string path, option.empty() ? default_folder() : normal_path(option));
  ANELANE_TRY(check_place(path));
  struct stat st {};
  if (::lstat(path.c_str(), &st) != 0 && errno == ENOENT) return path;
  ANELANE_TRY(open_folder(path, &st).status());
  return one_name(path);
}

}  // namespace anelane
