// System 27 verifies the folder of an in-memory model before it is compiled: it must lie in the user's own
// temp folder, nobody may have set the URL, nothing in it may be a symlink, there is at most one weight file,
// and every file that the caller's dictionary named must be there with the same bytes. Each fault is "invalid
// model". System 26 verifies nothing: it compiles what it finds, and complains in the compiler's domain. The
// client route is not verified in either.
//
// Dialects: 27 takes program(1.3) with ios18 only; 26 takes both, an "old machine" the old one only. The
// in-memory route wants a buildInfo attribute.
//
// Several weight files (26, or the client route) are joined into one, since the soft compiler reads one:
// records keep their order, and the offsets of later files, in the text and in the records, move by what lies
// before them.
#include "bundle.h"

#include <sys/stat.h>

#include <cstring>
#include <map>
#include <optional>
#include <vector>

#include "base/file.h"
#include "base/limits.h"
#include "knobs.h"

namespace standin {
namespace {

constexpr const char* kModelPath = "@model_path/";
constexpr const char* kOnlyName = "@model_path/weights/weight.bin";
constexpr size_t kHeadBytes = 64;

std::optional<std::string> read_inside(const std::string& folder, const std::string& name) {
  anelane::Result<std::string> bytes = anelane::read_file(folder + "/" + name, size_t{1} << 32);
  if (!bytes.ok()) return std::nullopt;
  return *std::move(bytes);
}

// The path itself or a folder on the way to it, from the staged folder on.
bool has_symlink(const std::string& folder, const std::string& name) {
  std::string path = folder;
  for (size_t at = 0;;) {
    struct stat st {};
    if (::lstat(path.c_str(), &st) == 0 && S_ISLNK(st.st_mode)) return true;
    if (at >= name.size()) return false;
    const size_t end = std::min(name.find('/', at), name.size());
    path += "/" + name.substr(at, end - at);
    at = end + 1;
  }
}

std::string hash_of(const std::string& bytes) {
  char hex[65];
  standin_sha256(bytes.data(), bytes.size(), nullptr, 0, hex);
  return hex;
}

bool verified(const StandinBundle& bundle) {
  if (bundle.url_was_set || bundle.redirected) return false;
  size_t weights = 0;
  for (size_t i = 0; i < bundle.hash_count; ++i) {
    const std::string name = bundle.hash_names[i];
    if (name != bundle.mil_name) ++weights;
    if (has_symlink(bundle.folder, name)) return false;
    const std::optional<std::string> bytes = read_inside(bundle.folder, name);
    if (!bytes || hash_of(*bytes) != bundle.hashes[i]) return false;
  }
  return weights <= 1;
}

bool is_promised(const StandinBundle& bundle, const std::string& name) {
  for (size_t i = 0; i < bundle.hash_count; ++i)
    if (name == bundle.hash_names[i]) return true;
  return false;
}

bool dialect_accepted(const std::string& mil, bool in_memory) {
  const bool modern = mil.starts_with("program(1.3)") && mil.find("<ios18>(") != std::string::npos;
  if (standin_system() >= 27 ? !modern : modern && standin_knob_number("old_machine", 0) != 0) return false;
  return !in_memory || mil.find("[buildInfo = dict<") != std::string::npos;
}

// BLOBFILE(path = string("…"), offset = uint64(N)), in either dialect: where the path and the number stand.
struct Reference {
  size_t path_at, path_size, number_at, number_size;
};

std::vector<Reference> references(const std::string& mil) {
  std::vector<Reference> all;
  for (size_t at = 0; (at = mil.find("BLOBFILE(", at)) != std::string::npos;) {
    const size_t path = mil.find('"', at),
                 path_end = path == std::string::npos ? path : mil.find('"', path + 1);
    const size_t offset = path_end == std::string::npos ? path_end : mil.find("offset", path_end);
    const size_t open = offset == std::string::npos ? offset : mil.find('(', offset);
    const size_t close = open == std::string::npos ? open : mil.find(')', open);
    if (close == std::string::npos) break;
    all.push_back({path + 1, path_end - path - 1, open + 1, close - open - 1});
    at = close;
  }
  return all;
}

void put_u64(std::string* bytes, size_t at, uint64_t value) {
  std::memcpy(bytes->data() + at, &value, sizeof(value));
}
uint64_t get_u64(const std::string& bytes, size_t at) {
  uint64_t value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

// Appends the records of `file` to `all`; what their offsets move by.
uint64_t join(std::string* all, const std::string& file) {
  if (all->empty()) {
    *all = file;
    return 0;
  }
  if (file.size() < kHeadBytes) return 0;
  all->resize((all->size() + 63) / 64 * 64);
  const uint64_t by = all->size() - kHeadBytes;
  std::string records = file.substr(kHeadBytes);
  for (size_t at = 0; at + 64 <= records.size();) {
    const uint64_t size = get_u64(records, at + 8);
    put_u64(&records, at + 16, get_u64(records, at + 16) + by);
    if (size > records.size() - at - 64) break;
    at += 64 + (size + 63) / 64 * 64;
  }
  *all += records;
  uint32_t count = 0, more = 0;
  std::memcpy(&count, all->data(), 4);
  std::memcpy(&more, file.data(), 4);
  count += more;
  std::memcpy(all->data(), &count, 4);
  return by;
}

}  // namespace

StandinOutcome read_bundle(const StandinBundle& bundle, anelane::Program* program) {
  const bool strict = bundle.in_memory && standin_system() >= 27;
  if (strict && !verified(bundle)) return STANDIN_INVALID_MODEL;
  const std::optional<std::string> mil = read_inside(bundle.folder, bundle.mil_name);
  if (!mil) return strict ? STANDIN_INVALID_MODEL : STANDIN_INVALID_MIL;
  if (!dialect_accepted(*mil, bundle.in_memory)) return STANDIN_INVALID_MIL;

  std::map<std::string, uint64_t> moved;  // by path
  std::string weights, text;
  size_t done = 0;
  for (const Reference& one : references(*mil)) {
    const std::string path = mil->substr(one.path_at, one.path_size);
    if (!path.starts_with(kModelPath)) return STANDIN_INVALID_MIL;
    const std::string name = path.substr(std::strlen(kModelPath));
    if (name.find("..") != std::string::npos) return STANDIN_INVALID_MIL;
    if (!moved.contains(path)) {
      if (strict && !is_promised(bundle, name)) return STANDIN_INVALID_MODEL;
      const std::optional<std::string> file = read_inside(bundle.folder, name);
      if (!file) return STANDIN_COMPILATION_FAILURE;
      moved[path] = join(&weights, *file);
    }
    const uint64_t offset = std::strtoull(mil->c_str() + one.number_at, nullptr, 10);
    text += mil->substr(done, one.path_at - done) + kOnlyName +
            mil->substr(one.path_at + one.path_size, one.number_at - one.path_at - one.path_size) +
            std::to_string(offset + moved[path]);
    done = one.number_at + one.number_size;
  }
  text += mil->substr(done);
  program->mil = text;
  program->weights.assign(weights.begin(), weights.end());
  return STANDIN_OK;
}

}  // namespace standin
