// What a Mach-O file says about its own signature: the name that the daemon keeps compiled programs under
// (L8.6). Only read, never verified: whether the signature is good is the system's business.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/status.h"

namespace anelane::worker {

struct CodeSignature {
  std::string identifier;
  std::string team;       // "": none, as in an ad-hoc signature
  bool ad_hoc = false;    // no certificate
  bool hardened = false;  // runs with the hardened runtime
};

// nullopt: a Mach-O file without a signature. UNSUPPORTED: no 64-bit Mach-O file. IO: one whose sizes do not
// fit. Of a file for several machines, the part for `cpu` (the first where there is none).
Result<std::optional<CodeSignature>> read_code_signature(std::span<const uint8_t> file, uint32_t cpu);
uint32_t own_cpu();  // as Mach-O numbers it; 0: of no Mac

}  // namespace anelane::worker
