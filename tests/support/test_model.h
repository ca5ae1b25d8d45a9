// The folder of all-MiniLM-L6-v2 for the tests that need the real model: $ANELANE_TEST_MODEL, else
// models/all-MiniLM-L6-v2 of the source tree. A missing model fails the test; it is not skipped.
#pragma once
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "base/file.h"

namespace anelane {

inline std::string test_model_folder() {
  const char* given = std::getenv("ANELANE_TEST_MODEL");
  const std::string folder = given != nullptr && given[0] != '\0' ? std::string(given)
                                                                  : ANELANE_SOURCE_DIR
                                 "/models/all-MiniLM-L6-v2";
  EXPECT_TRUE(is_regular_file(join_path(folder, "model.safetensors")))
      << "the test model is not in " << folder << ": run scripts/fetch-model, or set ANELANE_TEST_MODEL";
  return folder;
}

// A file of tests/data.
inline std::string test_data(const std::string& name) {
  Result<std::string> text = read_file(join_path(ANELANE_SOURCE_DIR "/tests/data", name), 64u << 20);
  EXPECT_TRUE(text.ok()) << text.status().message();
  return text.ok() ? *text : std::string();
}

}  // namespace anelane
