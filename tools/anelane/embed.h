// `anelane embed`: texts in, vectors out.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "session.h"

namespace anelane_tool {

struct EmbedFlags {
  std::string model_dir;
  std::vector<std::string> texts;
  std::vector<std::string> files;  // "-": stdin
  bool json = false;
  uint64_t deadline_ms = 600'000;
  LaneFlags lane;
};

// Returns the exit code.
int run_embed(const EmbedFlags& flags);

// The folder's own name, as the library uses it in logs and errors: "models/x/" gives "x".
std::string model_name(const std::string& model_dir);

}  // namespace anelane_tool
