// The files of a program model as one run of bytes: how a model that its caller gave in memory gets into the
// worker.
//   u32 count · for each file: u32 length of its name · name · u64 length · bytes      (little endian)
#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "models/program_files.h"

namespace anelane {

struct PackedFile {
  std::string name;
  std::span<const uint8_t> bytes;
};
std::string pack_files(std::span<const PackedFile> files);

// PROTOCOL when the bytes are no pack. The files of it are called "(memory)/name" in errors.
Result<std::unique_ptr<ProgramFiles>> open_program_pack(std::shared_ptr<const std::string> pack);

}  // namespace anelane
