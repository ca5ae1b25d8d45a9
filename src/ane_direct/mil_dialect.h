// The two ways to write the same program as MIL text. Which one an engine's compiler takes is the engine's to
// say (EngineInfo); the graph, the weight file and the results are the same, the content identifier is not.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace anelane {

enum class MilDialect : uint8_t {
  kIos18,  // program(1.3), func<ios18>: macOS 15 and later, the only one on 27
  kIos16,  // program(1.0), func<ios16>: scalars as rank-0 tensors
};

// "ios18", "ios16": as options spell them.
constexpr std::string_view mil_dialect_name(MilDialect dialect) {
  return dialect == MilDialect::kIos18 ? "ios18" : "ios16";
}
constexpr std::optional<MilDialect> find_mil_dialect(std::string_view name) {
  for (const MilDialect dialect : {MilDialect::kIos18, MilDialect::kIos16})
    if (mil_dialect_name(dialect) == name) return dialect;
  return std::nullopt;
}

}  // namespace anelane
