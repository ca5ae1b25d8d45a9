// anelane doctor: does everything work on this machine, step by step, and what to do where it does not.
#pragma once
#include <anelane.h>

#include <cstdint>
#include <optional>
#include <string>

namespace anelane_tool {

struct DoctorFlags {
  anelane_engine engine = ANELANE_ENGINE_AUTO;
  std::string cache_dir, temp_dir, lock_dir;
  std::optional<uint64_t> temp_space_min;  // bytes
  bool count_pool = false;
  bool json = false;
};

int run_doctor(const DoctorFlags& flags);

}  // namespace anelane_tool
