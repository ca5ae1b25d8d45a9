// Nothing in a pack is believed: every length is compared with what is left before it is used. The bytes stay
// where they are; a file is copied when it is read.
#include "models/program_pack.h"

#include <map>

namespace anelane {
namespace {

constexpr uint32_t kMaxFiles = 1u << 15;  // two for each layer of each rung, and more
constexpr uint32_t kMaxName = 1024;

void append(std::string* out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out->push_back(static_cast<char>(value >> (8 * i)));
}

class Reader {
 public:
  explicit Reader(std::string_view left) : left_(left) {}
  bool number(int bytes, uint64_t* value) {
    if (left_.size() < static_cast<size_t>(bytes)) return false;
    *value = 0;
    for (int i = 0; i < bytes; ++i)
      *value |= uint64_t{static_cast<uint8_t>(left_[static_cast<size_t>(i)])} << (8 * i);
    left_.remove_prefix(static_cast<size_t>(bytes));
    return true;
  }
  bool text(uint64_t length, std::string_view* value) {
    if (left_.size() < length) return false;
    *value = left_.substr(0, static_cast<size_t>(length));
    left_.remove_prefix(static_cast<size_t>(length));
    return true;
  }
  bool at_end() const { return left_.empty(); }

 private:
  std::string_view left_;
};

class Pack final : public ProgramFiles {
 public:
  explicit Pack(std::shared_ptr<const std::string> bytes) : bytes_(std::move(bytes)) {}
  bool index() {
    Reader reader(*bytes_);
    uint64_t count = 0;
    if (!reader.number(4, &count) || count > kMaxFiles) return false;
    for (uint64_t i = 0; i < count; ++i) {
      uint64_t name_length = 0, length = 0;
      std::string_view name, bytes;
      if (!reader.number(4, &name_length) || name_length > kMaxName || !reader.text(name_length, &name) ||
          !reader.number(8, &length) || !reader.text(length, &bytes) || !files_.emplace(name, bytes).second)
        return false;
    }
    return reader.at_end();
  }
  std::string place(const std::string& name) const override { return "(memory)/" + name; }
  Result<std::string> read(const std::string& name, uint64_t limit) const override {
    const auto found = files_.find(name);
    if (found == files_.end()) return error(Code::kIo, "there is no " + place(name));
    if (found->second.size() > limit)
      return error(Code::kIo, place(name) + " has " + std::to_string(found->second.size()) +
                                  " bytes, at most " + std::to_string(limit) + " are accepted")
          .with_limit(limit);
    return std::string(found->second);
  }

 private:
  const std::shared_ptr<const std::string> bytes_;
  std::map<std::string, std::string_view, std::less<>> files_;
};

}  // namespace

std::string pack_files(std::span<const PackedFile> files) {
  size_t total = 4;
  for (const PackedFile& file : files) total += 12 + file.name.size() + file.bytes.size();
  std::string out;
  out.reserve(total);
  append(&out, files.size(), 4);
  for (const PackedFile& file : files) {
    append(&out, file.name.size(), 4);
    out += file.name;
    append(&out, file.bytes.size(), 8);
    out.append(reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size());
  }
  return out;
}

Result<std::unique_ptr<ProgramFiles>> open_program_pack(std::shared_ptr<const std::string> pack) {
  auto files = std::make_unique<Pack>(std::move(pack));
  if (!files->index()) return error(Code::kProtocol, "the packed program is cut or damaged");
  return std::unique_ptr<ProgramFiles>(std::move(files));
}

}  // namespace anelane
