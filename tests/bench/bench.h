// What the benchmarks share: medians of interleaved repetitions, and one JSON line for each result.
#pragma once
#include <anelane.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace bench {

struct Settings {
  bool quick = false;     // few repetitions: shows that it runs, proves nothing
  std::string model_dir;  // all-MiniLM-L6-v2
  std::string work_dir;   // for lanes and caches; empty at the start
};

double median(std::vector<double> values);

// Runs both once each `repetitions` times, in turns, so that what disturbs the machine disturbs both alike.
// Each returns its time in ns for one operation. Gives the two medians.
std::pair<double, double> interleave(int repetitions, const std::function<double()>& subject,
                                     const std::function<double()>& baseline);

// {"bench":NAME,KEY:VALUE,…} on stdout, members in order. Values are numbers, or strings in quotes already.
void print(const std::string& name, const std::vector<std::pair<std::string, std::string>>& members);
std::string number(double value, int digits = 3);

// Ends the program with the library's words unless OK.
void require(anelane_status status, const anelane_error& err);
anelane_error new_error();
uint64_t in_ms(uint64_t ms);

// A lane on the software engine with everything in `folder` (created), and a model in it.
anelane_lane open_lane(const std::string& folder);
anelane_lane open_lane(const std::string& folder, anelane_lane_options options);
anelane_model load(anelane_lane lane, const std::string& path, const std::vector<uint32_t>& rungs = {});
void close(anelane_lane lane);

void lease_benchmarks(const Settings& settings);
void cancel_benchmarks(const Settings& settings);
void run_benchmarks(const Settings& settings);
void close_benchmarks(const Settings& settings);
void embed_benchmarks(const Settings& settings);

}  // namespace bench
