// The parser is nlohmann's, fed to a handler that builds our value and stops at the depth limit. This is the
// only file that includes it.
#include "base/json.h"

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <unordered_map>

namespace anelane {
namespace {

class Builder {
 public:
  using Ext = nlohmann::json;
  Builder(int max_depth, DuplicateKeys duplicates) : max_depth_(max_depth), duplicates_(duplicates) {}

  bool null() { return put(Json()); }
  bool boolean(bool v) { return put(Json(v)); }
  bool number_integer(Ext::number_integer_t v) { return put(Json(static_cast<int64_t>(v))); }
  bool number_unsigned(Ext::number_unsigned_t v) { return put(Json(static_cast<uint64_t>(v))); }
  bool number_float(Ext::number_float_t v, const std::string&) { return put(Json(v)); }
  bool string(std::string& v) { return put(Json(std::move(v))); }
  bool binary(Ext::binary_t&) { return false; }
  bool start_object(size_t) { return open(false); }
  bool start_array(size_t) { return open(true); }
  bool key(std::string& v) {
    open_.back().key = std::move(v);
    return true;
  }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool parse_error(size_t at, const std::string&, const nlohmann::detail::exception& e) {
    fail_at_ = at;
    why_ = e.what();
    // "[json.exception.parse_error.101] parse error at …: syntax error …": keep what follows the colon.
    if (const size_t colon = why_.find(": "); colon != std::string::npos) why_ = why_.substr(colon + 2);
    // It quotes the text, which may be anything.
    for (char& c : why_)
      if (c < ' ' || c > '~') c = '?';
    return false;
  }

  Json take() { return std::move(root_); }
  size_t fail_at() const { return fail_at_; }
  const std::string& why() const { return why_; }

 private:
  bool put(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return true;
    }
    if (open_.back().array)
      open_.back().items.push_back(std::move(value));
    else
      open_.back().members.emplace_back(std::move(open_.back().key), std::move(value));
    return true;
  }
  struct Level {
    bool array = false;
    std::string key;
    Json::Array items;
    Json::Object members;
  };

  bool open(bool array) {
    if (static_cast<int>(open_.size()) >= max_depth_) {
      why_ = "nested deeper than " + std::to_string(max_depth_) + " levels";
      return false;
    }
    open_.emplace_back().array = array;
    return true;
  }
  bool close() {
    Level done = std::move(open_.back());
    open_.pop_back();
    if (done.array) return put(Json(std::move(done.items)));
    if (!keep_last_of_each_key(&done.members)) return false;
    return put(Json(std::move(done.members)));
  }
  // Vocabularies have 10⁵ members: one pass with a hash, not a search for each.
  bool keep_last_of_each_key(Json::Object* members) {
    std::unordered_map<std::string_view, size_t> last;
    last.reserve(members->size());
    for (size_t i = 0; i < members->size(); ++i) {
      const auto [at, fresh] = last.insert_or_assign((*members)[i].first, i);
      if (fresh || duplicates_ == DuplicateKeys::kLastWins) continue;
      why_ = "the key " + Json(at->first).dump() + " stands twice in one object";
      return false;
    }
    if (last.size() == members->size()) return true;
    Json::Object kept;
    for (size_t i = 0; i < members->size(); ++i)
      if (last.find((*members)[i].first)->second == i) kept.push_back((*members)[i]);
    *members = std::move(kept);
    return true;
  }

  int max_depth_;
  DuplicateKeys duplicates_;
  Json root_;
  std::vector<Level> open_;
  size_t fail_at_ = 0;
  std::string why_ = "not valid JSON";
};

void write(const Json& v, std::string* out);

void write_string(const std::string& s, std::string* out) {
  *out += nlohmann::json(s).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void write_double(double d, std::string* out) {
  if (!std::isfinite(d)) {
    *out += "null";  // JSON has no other word for it
    return;
  }
  char buf[32];
  const auto end = std::to_chars(buf, buf + sizeof buf, d).ptr;
  out->append(buf, end);
}

void write(const Json& v, std::string* out) {
  if (v.is_null()) {
    *out += "null";
  } else if (v.is_bool()) {
    *out += v.as_bool() ? "true" : "false";
  } else if (v.is_int()) {
    *out += std::to_string(v.as_int());
  } else if (v.is_number()) {
    write_double(v.as_double(), out);
  } else if (v.is_string()) {
    write_string(v.as_string(), out);
  } else if (v.is_array()) {
    *out += '[';
    bool first = true;
    for (const Json& item : v.as_array()) {
      if (!first) *out += ',';
      first = false;
      write(item, out);
    }
    *out += ']';
  } else {
    *out += '{';
    bool first = true;
    for (const auto& [key, item] : v.as_object()) {
      if (!first) *out += ',';
      first = false;
      write_string(key, out);
      *out += ':';
      write(item, out);
    }
    *out += '}';
  }
}

}  // namespace

Json::Json(uint64_t v) {
  if (v <= static_cast<uint64_t>(INT64_MAX))
    value_ = static_cast<int64_t>(v);
  else
    value_ = static_cast<double>(v);
}

bool Json::as_bool(bool fallback) const {
  const bool* v = std::get_if<bool>(&value_);
  return v != nullptr ? *v : fallback;
}

int64_t Json::as_int(int64_t fallback) const {
  const int64_t* v = std::get_if<int64_t>(&value_);
  return v != nullptr ? *v : fallback;
}

double Json::as_double(double fallback) const {
  if (const double* v = std::get_if<double>(&value_)) return *v;
  if (const int64_t* v = std::get_if<int64_t>(&value_)) return static_cast<double>(*v);
  return fallback;
}

const std::string& Json::as_string() const {
  static const std::string none;
  const std::string* v = std::get_if<std::string>(&value_);
  return v != nullptr ? *v : none;
}

const Json::Array& Json::as_array() const {
  static const Array none;
  const Array* v = std::get_if<Array>(&value_);
  return v != nullptr ? *v : none;
}

const Json::Object& Json::as_object() const {
  static const Object none;
  const Object* v = std::get_if<Object>(&value_);
  return v != nullptr ? *v : none;
}

const Json* Json::find(std::string_view key) const {
  for (const Member& m : as_object())
    if (m.first == key) return &m.second;
  return nullptr;
}

const Json& Json::at(std::string_view key) const {
  static const Json none;
  const Json* v = find(key);
  return v != nullptr ? *v : none;
}

Json& Json::set(std::string key, Json value) {
  if (!is_object()) value_ = Object{};
  Object& members = std::get<Object>(value_);
  for (Member& m : members) {
    if (m.first == key) {
      m.second = std::move(value);
      return *this;
    }
  }
  members.emplace_back(std::move(key), std::move(value));
  return *this;
}

Json& Json::push(Json value) {
  if (!is_array()) value_ = Array{};
  std::get<Array>(value_).push_back(std::move(value));
  return *this;
}

std::string Json::dump() const {
  std::string out;
  write(*this, &out);
  return out;
}

Result<Json> parse_json(std::string_view text, std::string_view what, int max_depth,
                        DuplicateKeys duplicates) {
  Builder builder(max_depth, duplicates);
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &builder))
    return error(Code::kInvalidArgument,
                 std::string(what) + ": byte " + std::to_string(builder.fail_at()) + ": " + builder.why());
  return builder.take();
}

}  // namespace anelane
