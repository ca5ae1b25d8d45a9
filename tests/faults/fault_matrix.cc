// fault_matrix [WORD …]: each fault at each point of the protocol under each call, with real processes. A
// cell is one lane; several run at a time, because most of them wait. Prints a table and fails if any cell is
// not as it must be, or if the process is not what it was before. Words (points, faults, calls) choose cells.
#include <algorithm>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

#include "cell.h"
#include "host.h"
#include "support/tiny_checkpoint.h"

namespace faults {
namespace {

const char* const kPoints[] = {"hello", "load", "admit", "progress", "evict", "embed", "run", "stop"};
const char* const kFaults[] = {"die",     "late",        "stall",          "freeze",
                               "twice",   "old_request", "old_generation", "half_frame",
                               "garbage", "oversized",   "lose",           "deaf"};
const char* const kCalls[] = {"embed", "admit", "evict", "load", "retire", "close"};
constexpr size_t kAtATime = 8;

struct Entry {
  Cell cell;
  Outcome outcome;
};

// Chosen by up to three names, "-" for all: POINT FAULT CALL.
std::vector<Entry> choose(std::vector<std::string> names) {
  names.resize(3, "-");
  const auto wanted = [&](size_t i, const char* name) { return names[i] == "-" || names[i] == name; };
  std::vector<Entry> cells;
  for (const char* point : kPoints)
    for (const char* fault : kFaults)
      for (const char* call : kCalls)
        if (wanted(0, point) && wanted(1, fault) && wanted(2, call))
          cells.push_back({{point, fault, call}, {}});
  return cells;
}

void run_all(std::vector<Entry>* cells, const anelane::TempFolder& folder, const std::string& model) {
  std::mutex mutex;
  // The ones that hang wait longest: they go first.
  std::vector<Entry*> order;
  for (Entry& e : *cells) order.push_back(&e);
  std::stable_partition(order.begin(), order.end(), [](const Entry* e) { return e->cell.point == "hello"; });
  size_t next = 0;
  const auto work = [&] {
    for (;;) {
      size_t i = 0;
      {
        const std::lock_guard lock(mutex);
        if (next == order.size()) return;
        i = next++;
      }
      order[i]->outcome =
          run_cell(order[i]->cell, folder.file("lane" + std::to_string(i)), folder.file("cache"), model);
    }
  };
  std::vector<std::thread> threads;
  for (size_t i = 0; i < std::min(kAtATime, order.size()); ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
}

// "CRASHED 120 r1": what the call was told, after how many ms, and how many restarts the lane counted.
std::string word_of(const Outcome& o) {
  std::string said = o.said;
  for (const char* prefix : {"ENGINE_", "SHAPE_", "DEADLINE_"})
    if (said.starts_with(prefix)) said = said.substr(std::string(prefix).size());
  if (!o.verdict.empty()) said = "WRONG " + said;
  return said + ' ' + std::to_string(o.call_ms) + (o.struck ? " r" + std::to_string(o.restarts) : " -");
}

size_t print_table(const std::vector<Entry>& cells) {
  std::printf("%-9s %-15s", "point", "fault");
  for (const char* call : kCalls) std::printf("| %-18s", call);
  std::string row;
  size_t wrong = 0;
  for (const Entry& e : cells) {
    const std::string here = e.cell.point + ' ' + e.cell.fault;
    if (here != row) std::printf("\n%-9s %-15s", e.cell.point.c_str(), e.cell.fault.c_str());
    row = here;
    std::printf("| %-18s", word_of(e.outcome).c_str());
    wrong += e.outcome.verdict.empty() ? 0 : 1;
  }
  std::printf(
      "\n(what the call was told, after how many ms, restarts counted; -: the worker never got to the "
      "point)\n");
  for (const Entry& e : cells)
    if (!e.outcome.verdict.empty())
      std::printf("WRONG %s %s %s: %s (bait: %s)\n", e.cell.point.c_str(), e.cell.fault.c_str(),
                  e.cell.call.c_str(), e.outcome.verdict.c_str(), e.outcome.told_before.c_str());
  return wrong;
}

bool nothing_left(const std::string& before) {
  std::string now;
  for (int i = 0; i < 100; ++i) {  // the kernel may be a moment behind
    now = inventory();
    if (now == before) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  std::printf("something was left behind\nbefore\n%s\nafter\n%s\n", before.c_str(), now.c_str());
  return false;
}

int run(std::vector<std::string> names) {
  const anelane::TempFolder folder;
  const std::string model = folder.file("tiny");
  if (const anelane::Status written = anelane::write_tiny_checkpoint(model); !written.ok()) {
    std::fprintf(stderr, "fault_matrix: %s\n", written.message().c_str());
    return 1;
  }
  std::vector<Entry> cells = choose(std::move(names));
  const uint64_t start = anelane_now_ns();
  const std::string before = inventory();
  run_all(&cells, folder, model);
  const bool clean = nothing_left(before);
  const size_t wrong = print_table(cells);
  std::printf("%zu cells in %.1f s, %zu wrong, %s\n", cells.size(),
              static_cast<double>(ms_since(start)) / 1000, wrong,
              clean ? "nothing left behind" : "something left behind");
  return wrong == 0 && clean && !cells.empty() ? 0 : 1;
}

}  // namespace
}  // namespace faults

int main(int argc, char** argv) {
  return faults::run({argv + 1, argv + argc});
}
