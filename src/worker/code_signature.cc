// The way in: (fat header →) Mach-O header → load command LC_CODE_SIGNATURE → superblob → code directory,
// which holds the identifier as text. Fields of Mach-O are little-endian, those of fat headers and signatures
// big-endian. The file may be any: every offset is checked against what is there. No state.
#include "worker/code_signature.h"

namespace anelane::worker {
namespace {

constexpr uint32_t kFat = 0xcafebabe, kMachO64 = 0xfeedfacf;
constexpr uint32_t kLoadCodeSignature = 0x1d;
constexpr uint32_t kSuperBlob = 0xfade0cc0, kCodeDirectory = 0xfade0c02;
constexpr uint32_t kAdHoc = 0x2, kRuntime = 0x10000;
constexpr uint32_t kVersionWithTeam = 0x20200;
constexpr uint32_t kMostParts = 64, kMostCommands = 4096;
constexpr size_t kMostText = 1024;

// A part of the file. Reading outside of it gives 0 and is remembered.
class Bytes {
 public:
  explicit Bytes(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  uint32_t big(size_t at) { return word(at, 24, -8); }
  uint32_t little(size_t at) { return word(at, 0, 8); }
  std::string text(size_t at) {
    std::string out;
    for (; at < bytes_.size() && bytes_[at] != 0 && out.size() < kMostText; ++at)
      out += static_cast<char>(bytes_[at]);
    if (at >= bytes_.size() || bytes_[at] != 0) good_ = false;
    return out;
  }
  Bytes part(size_t at, size_t size) {
    if (at > bytes_.size() || size > bytes_.size() - at) {
      good_ = false;
      return Bytes({});
    }
    return Bytes(bytes_.subspan(at, size));
  }
  bool good() const { return good_; }
  std::span<const uint8_t> all() const { return bytes_; }

 private:
  uint32_t word(size_t at, int shift, int step) {
    if (at > bytes_.size() || bytes_.size() - at < 4) {
      good_ = false;
      return 0;
    }
    uint32_t value = 0;
    for (size_t i = 0; i < 4; ++i, shift += step) value |= uint32_t{bytes_[at + i]} << shift;
    return value;
  }
  std::span<const uint8_t> bytes_;
  bool good_ = true;
};

Status misfit() {
  return error(Code::kIo, "its sizes and offsets do not fit together");
}

Result<Bytes> part_for(Bytes file, uint32_t cpu) {
  if (file.big(0) != kFat) return file;
  const uint32_t parts = file.big(4);
  if (!file.good() || parts == 0 || parts > kMostParts) return misfit();
  uint32_t chosen = 0;
  for (uint32_t i = parts; i-- > 0;)
    if (file.big(8 + 20 * i) == cpu) chosen = i;
  const Bytes part = file.part(file.big(8 + 20 * chosen + 8), file.big(8 + 20 * chosen + 12));
  if (!file.good()) return misfit();
  return part;
}

Result<std::optional<CodeSignature>> read_directory(Bytes directory) {
  if (directory.big(0) != kCodeDirectory) return misfit();
  const uint32_t version = directory.big(8), flags = directory.big(12);
  CodeSignature signature;
  signature.ad_hoc = (flags & kAdHoc) != 0;
  signature.hardened = (flags & kRuntime) != 0;
  signature.identifier = directory.text(directory.big(20));
  if (version >= kVersionWithTeam)
    if (const uint32_t team = directory.big(48); team != 0) signature.team = directory.text(team);
  if (!directory.good()) return misfit();
  return std::optional(std::move(signature));
}

Result<std::optional<CodeSignature>> read_blob(Bytes blob) {
  const uint32_t count = blob.big(8);
  if (blob.big(0) != kSuperBlob || count > kMostParts) return misfit();
  for (uint32_t i = 0; i < count; ++i) {
    if (blob.big(12 + 8 * i) != 0) continue;  // 0: the code directory
    const uint32_t at = blob.big(12 + 8 * i + 4);
    const uint32_t size = blob.part(at, 8).big(4);
    const Bytes directory = blob.part(at, size);
    if (!blob.good()) return misfit();
    return read_directory(directory);
  }
  return misfit();
}

}  // namespace

uint32_t own_cpu() {
#if defined(__aarch64__)
  return 0x0100000c;
#elif defined(__x86_64__)
  return 0x01000007;
#else
  return 0;
#endif
}

Result<std::optional<CodeSignature>> read_code_signature(std::span<const uint8_t> file, uint32_t cpu) {
  ANELANE_ASSIGN(Bytes part, part_for(Bytes(file), cpu));
  if (part.little(0) != kMachO64) return error(Code::kUnsupported, "it is no 64-bit Mach-O file");
  const uint32_t commands = part.little(16);
  if (!part.good() || commands > kMostCommands) return misfit();
  size_t at = 32;
  for (uint32_t i = 0; i < commands; ++i) {
    const uint32_t command = part.little(at), size = part.little(at + 4);
    if (!part.good() || size < 8) return misfit();
    if (command == kLoadCodeSignature) {
      const uint32_t where = part.little(at + 8), bytes = part.little(at + 12);
      const Bytes blob = part.part(where, bytes);
      if (!part.good()) return misfit();
      return read_blob(blob);
    }
    at += size;
  }
  return std::optional<CodeSignature>();
}

}  // namespace anelane::worker
