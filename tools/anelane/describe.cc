// Prints what the library reads from a checkpoint's headers, or from the record beside the lane lock. Needs
// no lane and disturbs nobody. Main thread only.
#include "describe.h"

#include <anelane.h>

#include <cinttypes>
#include <cstdio>
#include <ctime>
#include <filesystem>

#include "embed.h"
#include "json_text.h"
#include "report.h"
#include "session.h"

namespace anelane_tool {
namespace {

const char* kind_name(anelane_model_kind kind) {
  switch (kind) {
    case ANELANE_EMBEDDER:
      return "embedder";
    case ANELANE_RERANKER:
      return "reranker";
    case ANELANE_PROGRAM:
      return "program";
    default:
      return "unknown";
  }
}

// The ladder, "128, 256" with ", " in between.
std::string rung_list(const anelane_model_info& info, const char* between) {
  std::string out;
  constexpr uint32_t kMost = sizeof info.rungs / sizeof info.rungs[0];
  for (uint32_t i = 0; i < info.rung_count && i < kMost; ++i)
    out += (i > 0 ? between : "") + std::to_string(info.rungs[i]);
  return out;
}

void print_model_json(const std::string& name, const anelane_model_info& info) {
  std::printf(
      "{\"model\":%s,\"kind\":\"%s\",\"architecture\":%s,\"dim\":%u,\"ceiling\":%u,\"layers\":%u,"
      "\"rungs\":[%s],\"host_bytes\":%" PRIu64 "}\n",
      json_string(name).c_str(), kind_name(info.kind), json_string(info.architecture).c_str(), info.dim,
      info.ceiling, info.layers, rung_list(info, ",").c_str(), info.host_bytes);
}

void print_model(const std::string& name, const anelane_model_info& info) {
  std::printf("model         %s\n", name.c_str());
  std::printf("kind          %s\n", kind_name(info.kind));
  std::printf("architecture  %s\n", info.architecture);
  if (info.kind != ANELANE_PROGRAM) {
    std::printf("vector        %u numbers\n", info.dim);
    std::printf("longest text  %u tokens\n", info.ceiling);
  }
  std::printf("layers        %u (programs of one shape)\n", info.layers);
  std::printf("shapes        %s\n", rung_list(info, ", ").c_str());
  std::printf("host memory   %.1f MB beside the engine's\n", static_cast<double>(info.host_bytes) / 1e6);
}

int describe_model(const DescribeFlags& flags) {
  anelane_model_info info = {};
  info.struct_size = sizeof info;
  anelane_error err = new_error();
  if (anelane_model_inspect(flags.model_dir.c_str(), &info, &err) != ANELANE_OK) return report(err);
  const std::string name = model_name(flags.model_dir);
  if (flags.json)
    print_model_json(name, info);
  else
    print_model(name, info);
  return finish_output();
}

int describe_holder(const DescribeFlags& flags) {
  anelane_holder holder = {};
  holder.struct_size = sizeof holder;
  anelane_error err = new_error();
  const std::string lock_dir = absolute_folder(flags.lock_dir);
  if (anelane_lane_holder(lock_dir.empty() ? nullptr : lock_dir.c_str(), &holder, &err) != ANELANE_OK)
    return report(err);
  const bool known = holder.held != 0 && holder.record_stale == 0;
  if (flags.json) {
    std::printf("{\"held\":%s", holder.held != 0 ? "true" : "false");
    if (known)
      std::printf(",\"pid\":%u,\"program\":%s,\"since\":\"%s\"", holder.pid,
                  json_string(holder.program).c_str(), utc(holder.since_unix_ms).c_str());
    std::puts("}");
  } else if (known) {
    std::printf("the lane is held by process %u (%s) since %s\n", holder.pid, holder.program,
                utc(holder.since_unix_ms).c_str());
  } else {
    std::puts(holder.held != 0 ? "the lane is held; by whom is not recorded" : free_lane(lock_dir).c_str());
  }
  return finish_output();
}

}  // namespace

std::string utc(int64_t unix_ms) {
  const std::time_t seconds = static_cast<std::time_t>(unix_ms / 1000);
  std::tm parts = {};
  char text[32] = "";
  if (gmtime_r(&seconds, &parts) != nullptr) std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::string free_lane(const std::string& lock_dir) {
  std::error_code unknown;
  const bool none = !lock_dir.empty() && !std::filesystem::exists(lock_dir, unknown) && !unknown;
  return none ? "the lane is free: there is none in " + lock_dir +
                    " yet, the first to open it makes the folder"
              : "the lane is free";
}

int run_describe(const DescribeFlags& flags) {
  return flags.model_dir.empty() ? describe_holder(flags) : describe_model(flags);
}

}  // namespace anelane_tool
