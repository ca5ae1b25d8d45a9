// The daemon's folder on disk:
//   <root>/<OS build>/InMemoryModelCache/<signing identifier>/<hex>/model.hwx
//   <root>/<OS build>/ModelAssetsCache/<signing identifier>/<cacheURLIdentifier>/model.hwx
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "base/status.h"

namespace standin {

std::string root_folder();  // made when missing
// "" when the caller has no identity, or one that cannot name a folder.
std::string entry_file(bool client, const std::string& id);
// Exists = can be mapped.
bool entry_exists(const std::string& path);
// Whole or not at all; then makes room as knob vault_bytes_max says.
anelane::Status store_entry(const std::string& path, std::span<const uint8_t> bytes);
// Marks it as used.
anelane::Result<std::string> fetch_entry(const std::string& path);
void purge_entry(const std::string& path);
// Drops the vaults of other OS builds; once a day, what nobody used for 14 days.
void maintain_vault();

}  // namespace standin
