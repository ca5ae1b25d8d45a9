// Prints what anelane_lane_peek gives, as it is or in columns. Members that this tool does not know are
// passed over, missing ones are left out: the lane may be of another version of the library. Main thread
// only.
#include "ps.h"

#include <anelane.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

#include "describe.h"
#include "json_members.h"
#include "peek.h"
#include "printable.h"
#include "report.h"
#include "session.h"

namespace anelane_tool {
namespace {

using nlohmann::json;

std::string word(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.is_null() ? "-" : value.dump();
}

// "0.4 ms", "12 s": as exact as people want it.
std::string duration(const json& ms_value) {
  if (!ms_value.is_number()) return "not known";
  const double ms = ms_value.get<double>();
  char text[32];
  std::snprintf(text, sizeof text,
                ms < 10     ? "%.1f ms"
                : ms < 1000 ? "%.0f ms"
                            : "%.1f s",
                ms < 1000 ? ms : ms / 1000);
  return text;
}

// Columns as wide as what stands in them, two blanks in between.
void print_rows(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line.append(widths[i] - row[i].size() + 2, ' ');
    }
    std::puts(line.c_str());
  }
}

std::string shapes_of(const json& model) {
  std::string out;
  for (const json& slot : at(model, "slots")) {
    out += (out.empty() ? "" : ", ") + word(at(slot, "shape")) + ' ' + word(at(slot, "state"));
    if (const int64_t leases = number(at(slot, "leases")); leases > 0)
      out += " (" + std::to_string(leases) + " leased)";
  }
  return out.empty() ? "none" : out;
}

void print_models(const json& lane) {
  std::vector<std::vector<std::string>> rows = {
      {"MODEL", "WORKER", "STATE", "LIFE", "ENGINE", "LAYERS", "SHAPES"}};
  for (const json& model : at(lane, "models"))
    rows.push_back({word(at(model, "name")), word(at(model, "worker_pid")), word(at(model, "state")),
                    word(at(model, "generation")), word(at(model, "engine")), word(at(model, "layers")),
                    shapes_of(model)});
  if (rows.size() > 1)
    print_rows(rows);
  else
    std::puts("no model is loaded");
}

void print_queue(const json& lane) {
  std::vector<std::vector<std::string>> rows = {{"QUEUE", "SHAPE", "WAITING", "KIND", "PREDICTED"}};
  for (const json& entry : at(lane, "queue"))
    rows.push_back({word(at(entry, "model")), word(at(entry, "shape")), word(at(entry, "waiting")),
                    word(at(entry, "kind")), duration(at(entry, "predicted_ms"))});
  if (rows.size() > 1)
    print_rows(rows);
  else
    std::puts("nothing is queued");
}

void print_costs(const json& lane) {
  std::vector<std::vector<std::string>> rows = {{"COSTS", "SHAPE", "CACHED", "LOAD", "COMPILE"}};
  for (const json& model : at(lane, "models"))
    for (const json& cost : at(model, "costs")) {
      const bool guessed = at(cost, "compile_measured") != json(true) && at(cost, "compile_ms").is_number();
      rows.push_back({word(at(model, "name")), word(at(cost, "shape")),
                      at(cost, "cached") == json(true) ? "yes" : "no", duration(at(cost, "load_ms")),
                      duration(at(cost, "compile_ms")) + (guessed ? " (predicted)" : "")});
    }
  if (rows.size() > 1) print_rows(rows);
}

void print_lane(const json& peek) {
  const json& holder = at(peek, "holder");
  const bool alive = at(holder, "alive") == json(true);
  if (number(at(holder, "pid")) == 0)
    std::puts("the lane is held; by whom is not recorded");
  else
    std::printf("the lane is held by %sprocess %s (%s)%s since %s\n", alive ? "" : "workers of ",
                word(at(holder, "pid")).c_str(), word(at(holder, "program")).c_str(),
                alive ? "" : ", which has ended,", utc(number(at(holder, "since_unix_ms"))).c_str());
  const json& lane = at(peek, "lane");
  if (!lane.is_object()) {
    std::puts("what it does is not known: nothing has happened in it yet, or it could not write it down");
    return;
  }
  const bool stale = at(peek, "stale") == json(true);
  std::printf("%s %s\n",
              stale ? "STALE: not written by the holder of now, but by an earlier one at" : "as of",
              utc(number(at(peek, "as_of_unix_ms"))).c_str());
  const json &programs = at(lane, "programs"), &counters = at(lane, "counters");
  std::printf("programs %s of %s, shapes admitted %s (compiled %s), evicted %s, workers restarted %s\n",
              word(at(programs, "charged")).c_str(), word(at(programs, "budget")).c_str(),
              word(at(counters, "admitted")).c_str(), word(at(counters, "compiled")).c_str(),
              word(at(counters, "evicted")).c_str(), word(at(counters, "restarts")).c_str());
  std::puts("");
  print_models(lane);
  std::puts("");
  print_queue(lane);
  std::puts("");
  print_costs(lane);
}

}  // namespace

int run_ps(const PsFlags& flags) {
  const std::string lock_dir = absolute_folder(flags.lock_dir);
  anelane_error err = new_error();
  const std::string text = peek_lane(lock_dir, &err);
  if (text.empty()) return report(err);
  if (flags.json) {
    std::puts(text.c_str());
    return finish_output();
  }
  const json peek = json::parse(text, nullptr, false);
  if (at(peek, "held") == json(true))
    print_lane(peek);
  else
    std::puts(free_lane(lock_dir).c_str());
  for (const CrashLoop& loop : crash_loops(text)) std::puts(printable(words(loop)).c_str());
  return finish_output();
}

}  // namespace anelane_tool
