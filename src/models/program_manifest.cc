// Strict: a member that is not known is refused, because a mistyped "weights" would only be felt much later,
// and a member that stands twice as well. File names stay below the manifest's folder, whatever they say.
#include "models/program_manifest.h"

#include <algorithm>
#include <initializer_list>

#include "base/json_fields.h"
#include "base/limits.h"

namespace anelane {
namespace {

constexpr int64_t kFormat = 1;
constexpr size_t kMaxFileName = 1024;
constexpr size_t kMaxName = 63;  // what an error can carry

Status invalid(const std::string& where, const std::string& what) {
  return error(Code::kModelInvalid, where + ": " + what);
}

Status check_members(const std::string& where, const Json& object,
                     std::initializer_list<std::string_view> known) {
  for (const Json::Member& member : object.as_object()) {
    if (std::find(known.begin(), known.end(), member.first) != known.end()) continue;
    std::string names;
    for (const std::string_view name : known) names += (names.empty() ? "" : ", ") + std::string(name);
    return invalid(where, "\"" + member.first.substr(0, 64) + "\" is no member here: " + names + " are");
  }
  return {};
}

Status check_file_name(const JsonFields& fields, std::string_view member, const std::string& name) {
  bool plain = !name.empty() && name.size() <= kMaxFileName && name[0] != '/' &&
               name.find('\0') == std::string::npos && name.find('\\') == std::string::npos;
  for (size_t at = 0; plain && at <= name.size();) {
    const size_t end = std::min(name.find('/', at), name.size());
    const std::string part = name.substr(at, end - at);
    plain = !part.empty() && part != "." && part != "..";
    at = end + 1;
  }
  if (plain) return {};
  return fields.wrong(member, "the name of a file below the folder of this one, without \"..\"");
}

Result<ManifestLayer> parse_layer(const std::string& where, const Json& json) {
  if (!json.is_object()) return invalid(where, "expected an object with \"mil\", found " + describe(json));
  ANELANE_TRY(check_members(where, json, {"mil", "weights", "connect"}));
  const JsonFields fields(where, json);
  ManifestLayer layer;
  ANELANE_ASSIGN(layer.mil, fields.string("mil"));
  ANELANE_TRY(check_file_name(fields, "mil", layer.mil));
  ANELANE_ASSIGN(layer.weights, fields.string("weights", ""));
  if (!layer.weights.empty()) ANELANE_TRY(check_file_name(fields, "weights", layer.weights));
  const Json* connect = fields.find("connect");
  if (connect == nullptr) return layer;
  if (!connect->is_object()) return fields.wrong("connect", "an object: input name to output name");
  for (const auto& [input, output] : connect->as_object()) {
    if (input.empty() || !output.is_string() || output.as_string().empty())
      return fields.wrong("connect", "an object: input name to output name");
    layer.connect.emplace_back(input, output.as_string());
  }
  return layer;
}

Result<uint32_t> parse_width(const std::string& where, const std::string& text) {
  uint64_t width = 0;
  const bool digits = !text.empty() && text.size() <= 10 && text[0] != '0' &&
                      text.find_first_not_of("0123456789") == std::string::npos;
  if (digits) width = std::stoull(text);
  if (!digits || width > kMaxProgramWidth)
    return invalid(where, "rungs: \"" + text.substr(0, 32) + "\" is not a width: a whole number from 1 to " +
                              std::to_string(kMaxProgramWidth));
  return static_cast<uint32_t>(width);
}

Result<ManifestRung> parse_rung(const std::string& where, const std::string& key, const Json& json) {
  ManifestRung rung;
  ANELANE_ASSIGN(rung.width, parse_width(where, key));
  const std::string place = where + ": rungs: " + key;
  if (!json.is_array() || json.as_array().empty())
    return invalid(place, "expected a list of layers, at least one, found " + describe(json));
  if (json.as_array().size() > limits::kMaxLayers)
    return invalid(place, std::to_string(json.as_array().size()) + " layers, at most " +
                              std::to_string(limits::kMaxLayers) + " are possible");
  for (const Json& item : json.as_array()) {
    const std::string index = std::to_string(rung.layers.size());
    ANELANE_ASSIGN(ManifestLayer layer, parse_layer(place + ": layer " + index, item));
    rung.layers.push_back(std::move(layer));
  }
  return rung;
}

}  // namespace

Result<ProgramManifest> parse_program_manifest(const std::string& where, std::string_view text) {
  Result<Json> json = parse_json(text, where, 16, DuplicateKeys::kRefuse);
  if (!json.ok()) return error(Code::kModelInvalid, json.status().message());
  if (!json->is_object()) return invalid(where, "expected an object, found " + describe(*json));
  ANELANE_TRY(check_members(where, *json, {"format", "name", "rungs"}));
  const JsonFields fields(where, *json);
  ANELANE_TRY(fields.integer("format", kFormat, kFormat).status());
  ProgramManifest manifest;
  ANELANE_ASSIGN(manifest.name, fields.string("name", ""));
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (manifest.name.size() > kMaxName || std::any_of(manifest.name.begin(), manifest.name.end(), control))
    return fields.wrong("name", "one line of at most " + std::to_string(kMaxName) + " bytes");
  const Json* rungs = fields.find("rungs");
  if (rungs == nullptr || !rungs->is_object() || rungs->as_object().empty())
    return fields.wrong("rungs", "an object: width to list of layers, at least one");
  if (rungs->as_object().size() > limits::kMaxRungs)
    return invalid(where, "rungs: " + std::to_string(rungs->as_object().size()) + " rungs, at most " +
                              std::to_string(limits::kMaxRungs) + " are possible");
  for (const auto& [key, value] : rungs->as_object()) {
    ANELANE_ASSIGN(ManifestRung rung, parse_rung(where, key, value));
    manifest.rungs.push_back(std::move(rung));
  }
  std::sort(manifest.rungs.begin(), manifest.rungs.end(),
            [](const ManifestRung& a, const ManifestRung& b) { return a.width < b.width; });
  const ManifestRung& first = manifest.rungs.front();
  for (const ManifestRung& rung : manifest.rungs)
    if (rung.layers.size() != first.layers.size())
      return invalid(where, "rungs: " + std::to_string(rung.width) + " has " +
                                std::to_string(rung.layers.size()) + " layers, " +
                                std::to_string(first.width) + " has " + std::to_string(first.layers.size()) +
                                ": every rung of a model must have as many");
  return manifest;
}

}  // namespace anelane
