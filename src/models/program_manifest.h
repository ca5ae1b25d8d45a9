// program.json: a model made of its caller's own programs. docs/programs.md describes it for users.
//
//   { "format": 1, "name": "adder",
//     "rungs": { "64":  [ {"mil": "up_64.mil", "weights": "up.bin"},
//                         {"mil": "down_64.mil", "connect": {"x": "h"}} ],
//                "128": [ … ] } }
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/status.h"

namespace anelane {

struct ManifestLayer {
  std::string mil;                                           // file names, below the manifest's folder
  std::string weights;                                       // "": none
  std::vector<std::pair<std::string, std::string>> connect;  // input → output of an earlier layer
};

struct ManifestRung {
  uint32_t width = 0;
  std::vector<ManifestLayer> layers;
};

struct ProgramManifest {
  std::string name;                 // "": none is given
  std::vector<ManifestRung> rungs;  // ascending, all with as many layers
};

inline constexpr const char* kManifestName = "program.json";
inline constexpr uint32_t kMaxProgramWidth = 1u << 30;  // a rung's; a name, not a size

// MODEL_INVALID names `where`, the member, what was expected and what was found.
Result<ProgramManifest> parse_program_manifest(const std::string& where, std::string_view text);

}  // namespace anelane
