// The JSON bodies of the rare frames. Writing gives the same bytes for the same values. Reading ignores what
// it does not know, gives missing optional members their defaults (L8.5), and refuses a required member that
// is missing, a member of another kind and a number outside its range, naming the frame and the member.
#include <limits>

#include "base/limits.h"
#include "worker/protocol.h"

namespace anelane::worker {
namespace {

// Reads the members of one body and keeps the first complaint.
class Members {
 public:
  Members(const char* frame, std::string_view body) : frame_(frame) {
    Result<Json> json = parse_json(body, frame, 8);
    if (!json.ok()) {
      status_ = error(Code::kProtocol, json.status().message());
    } else if (!json->is_object()) {
      status_ = error(Code::kProtocol, std::string(frame) + ": the body is not a JSON object");
    } else {
      json_ = *std::move(json);
    }
  }

  template <class T>
  void need(const char* key, T* out) {
    const Json* value = json_.find(key);
    if (value != nullptr)
      read(key, *value, out);
    else
      fail(key, "is missing");
  }
  template <class T>
  void want(const char* key, T* out) {
    const Json* value = json_.find(key);
    if (value != nullptr && !value->is_null()) read(key, *value, out);
  }
  template <class T>
  void want(const char* key, std::optional<T>* out) {
    const Json* value = json_.find(key);
    if (value != nullptr && !value->is_null()) read(key, *value, &out->emplace());
  }
  void fail(const char* key, const std::string& what) {
    if (status_.ok())
      status_ = error(Code::kProtocol, std::string(frame_) + ": member \"" + key + "\" " + what);
  }
  const Status& status() const { return status_; }

 private:
  void read(const char* key, const Json& value, std::string* out) {
    if (!value.is_string()) return fail(key, "is not a string");
    *out = value.as_string();
  }
  void read(const char* key, const Json& value, bool* out) {
    if (!value.is_bool()) return fail(key, "is not true or false");
    *out = value.as_bool();
  }
  void read(const char* key, const Json& value, double* out) {
    if (!value.is_number()) return fail(key, "is not a number");
    *out = value.as_double();
  }
  template <class T>
  void read_integer(const char* key, const Json& value, T* out) {
    constexpr int64_t low = std::is_unsigned_v<T> ? 0 : static_cast<int64_t>(std::numeric_limits<T>::min());
    constexpr int64_t high = sizeof(T) == 8 ? std::numeric_limits<int64_t>::max()
                                            : static_cast<int64_t>(std::numeric_limits<T>::max());
    if (!value.is_int()) return fail(key, "is not an integer");
    if (value.as_int() < low || value.as_int() > high) return fail(key, "is out of range");
    *out = static_cast<T>(value.as_int());
  }
  void read(const char* key, const Json& value, uint32_t* out) { read_integer(key, value, out); }
  void read(const char* key, const Json& value, int32_t* out) { read_integer(key, value, out); }
  void read(const char* key, const Json& value, uint64_t* out) { read_integer(key, value, out); }
  void read(const char* key, const Json& value, int64_t* out) { read_integer(key, value, out); }
  void read(const char* key, const Json& value, std::vector<uint32_t>* out) {
    if (!value.is_array()) return fail(key, "is not a list");
    if (value.as_array().size() > limits::kMaxRungs) return fail(key, "has too many items");
    for (const Json& item : value.as_array()) read(key, item, &out->emplace_back());
  }

  const char* frame_;
  Json json_;
  Status status_;
};

Json list(const std::vector<uint32_t>& values) {
  Json array = Json::array();
  for (const uint32_t v : values) array.push(v);
  return array;
}

}  // namespace

Json to_json(const InitBody& body) {
  Json json = Json::object();
  json.set("version", body.version).set("nonce", body.nonce).set("build", body.build);
  json.set("engine", body.engine).set("cache_dir", body.cache_dir).set("temp_dir", body.temp_dir);
  json.set("numerics", body.numerics).set("signing_identifier", body.signing_identifier);
  json.set("profile_dir", body.profile_dir).set("soft_threads", body.soft_threads);
  json.set("apple_route", body.apple_route).set("mil_dialect", body.mil_dialect);
  json.set("in_host", body.in_host).set("arena_bytes", body.arena_bytes);
  return json;
}

Result<InitBody> parse_init(std::string_view text) {
  Members members("INIT", text);
  InitBody body;
  members.need("version", &body.version);
  members.need("nonce", &body.nonce);
  members.need("build", &body.build);
  members.need("engine", &body.engine);
  members.want("cache_dir", &body.cache_dir);
  members.want("temp_dir", &body.temp_dir);
  members.want("numerics", &body.numerics);
  members.want("signing_identifier", &body.signing_identifier);
  members.want("profile_dir", &body.profile_dir);
  members.want("soft_threads", &body.soft_threads);
  members.want("apple_route", &body.apple_route);
  members.want("mil_dialect", &body.mil_dialect);
  members.want("in_host", &body.in_host);
  members.want("arena_bytes", &body.arena_bytes);
  ANELANE_TRY(members.status());
  return body;
}

Json to_json(const HelloBody& body) {
  Json json = Json::object();
  json.set("version", body.version).set("nonce", body.nonce).set("build", body.build);
  json.set("engine", body.engine).set("numerics", body.numerics).set("dispatch", body.dispatch);
  json.set("os_build", body.os_build).set("pool_limit", body.pool_limit).set("pid", body.pid);
  return json;
}

Result<HelloBody> parse_hello(std::string_view text) {
  Members members("HELLO", text);
  HelloBody body;
  members.need("version", &body.version);
  members.need("nonce", &body.nonce);
  members.need("build", &body.build);
  members.need("engine", &body.engine);
  members.want("numerics", &body.numerics);
  members.want("dispatch", &body.dispatch);
  members.want("os_build", &body.os_build);
  members.want("pool_limit", &body.pool_limit);
  members.want("pid", &body.pid);
  ANELANE_TRY(members.status());
  return body;
}

Json to_json(const LoadBody& body) {
  return Json::object()
      .set("path", body.path)
      .set("name", body.name)
      .set("rungs", list(body.rungs))
      .set("pack_bytes", body.pack_bytes)
      .set("shapes_per_model", body.shapes_per_model);
}

Result<LoadBody> parse_load(std::string_view text) {
  Members members("LOAD", text);
  LoadBody body;
  members.need("path", &body.path);
  members.want("name", &body.name);
  members.want("rungs", &body.rungs);
  members.want("shapes_per_model", &body.shapes_per_model);
  members.want("pack_bytes", &body.pack_bytes);
  ANELANE_TRY(members.status());
  return body;
}

Json to_json(const LoadedBody& body) {
  Json json = Json::object();
  json.set("kind", body.kind).set("architecture", body.architecture);
  json.set("dim", body.dim).set("width", body.width).set("ceiling", body.ceiling);
  json.set("layers", body.layers).set("vocab", body.vocab).set("ladder", list(body.ladder));
  if (body.cached_shapes) json.set("ane_cached_shapes", list(*body.cached_shapes));
  json.set("checkpoint_digest", body.checkpoint_digest).set("conversion", body.conversion);
  json.set("host_bytes", body.host_bytes).set("check_ms", body.check_ms);
  return json;
}

Result<LoadedBody> parse_loaded(std::string_view text) {
  Members members("LOADED", text);
  LoadedBody body;
  members.need("kind", &body.kind);
  members.want("architecture", &body.architecture);
  members.need("dim", &body.dim);
  members.want("width", &body.width);
  members.need("ceiling", &body.ceiling);
  members.need("layers", &body.layers);
  members.want("vocab", &body.vocab);
  members.need("ladder", &body.ladder);
  members.want("ane_cached_shapes", &body.cached_shapes);
  members.want("checkpoint_digest", &body.checkpoint_digest);
  members.want("conversion", &body.conversion);
  members.want("host_bytes", &body.host_bytes);
  members.want("check_ms", &body.check_ms);
  ANELANE_TRY(members.status());
  return body;
}

Json to_json(const AdmittedBody& body) {
  Json json = Json::object().set("shape", body.shape);
  if (body.cache_hit_layers) json.set("cache_hit_layers", *body.cache_hit_layers);
  if (body.compiled_layers) json.set("compiled_layers", *body.compiled_layers);
  return json.set("total_ms", body.total_ms);
}

Result<AdmittedBody> parse_admitted(std::string_view text) {
  Members members("ADMITTED", text);
  AdmittedBody body;
  members.need("shape", &body.shape);
  members.want("cache_hit_layers", &body.cache_hit_layers);
  members.want("compiled_layers", &body.compiled_layers);
  members.want("total_ms", &body.total_ms);
  ANELANE_TRY(members.status());
  return body;
}

Result<uint32_t> parse_shape(std::string_view text) {
  Members members("shape", text);
  uint32_t shape = 0;
  members.need("shape", &shape);
  ANELANE_TRY(members.status());
  return shape;
}

Json shape_json(uint32_t shape) {
  return Json::object().set("shape", shape);
}

Json to_json(const ProgressBody& body) {
  return shape_json(body.shape).set("layer", body.layer).set("layers", body.layers);
}

Result<ProgressBody> parse_progress(std::string_view text) {
  Members members("PROGRESS", text);
  ProgressBody body;
  members.need("shape", &body.shape);
  members.need("layer", &body.layer);
  members.need("layers", &body.layers);
  ANELANE_TRY(members.status());
  return body;
}

Json to_json(const PongBody& body) {
  return Json::object().set("busy_ms", body.busy_ms).set("request", body.request).set("steps", body.steps);
}

Result<PongBody> parse_pong(std::string_view text) {
  Members members("PONG", text);
  PongBody body;
  members.need("busy_ms", &body.busy_ms);
  members.need("request", &body.request);
  members.want("steps", &body.steps);
  ANELANE_TRY(members.status());
  return body;
}

Json to_json(const Status& status) {
  const ErrorDetail& detail = status.detail();
  Json json = Json::object();
  json.set("code", code_info(status.code()).name).set("message", status.message());
  json.set("transient", detail.transient).set("safe_to_retry", detail.safe_to_retry);
  json.set("retry_after_ms", detail.retry_after_ms);
  if (detail.limit != 0) json.set("limit", detail.limit);
  if (detail.item >= 0) json.set("item", detail.item);
  if (detail.shape != 0) json.set("shape", detail.shape);
  if (!detail.model.empty()) json.set("model", detail.model);
  return json;
}

Status parse_failed(std::string_view text, Status* failed) {
  Members members("FAILED", text);
  std::string code_name;
  ErrorDetail detail;
  members.need("code", &code_name);
  members.need("message", &detail.message);
  const CodeInfo* info = find_code(std::string_view(code_name));
  if (info == nullptr || info->code == Code::kOk) {
    members.fail("code", "names no error");
    return members.status();
  }
  detail.transient = info->transient;
  detail.safe_to_retry = info->safe_to_retry;
  detail.retry_after_ms = info->retry_after_ms;
  members.want("transient", &detail.transient);
  members.want("safe_to_retry", &detail.safe_to_retry);
  members.want("retry_after_ms", &detail.retry_after_ms);
  members.want("limit", &detail.limit);
  members.want("item", &detail.item);
  members.want("shape", &detail.shape);
  members.want("model", &detail.model);
  ANELANE_TRY(members.status());
  *failed = error(info->code, detail.message)
                .with_class(detail.transient)
                .with_safe_to_retry(detail.safe_to_retry)
                .with_retry_after(detail.retry_after_ms)
                .with_limit(detail.limit)
                .with_item(detail.item)
                .with_shape(detail.shape)
                .with_model(detail.model);
  return {};
}

}  // namespace anelane::worker
