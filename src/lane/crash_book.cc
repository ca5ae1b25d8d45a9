#include "lane/crash_book.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "base/limits.h"

namespace anelane {
namespace {

constexpr int64_t kWindow = limits::kCrashWindowMs;
constexpr int64_t kHold = limits::kProbeEveryMs;
constexpr size_t kDepth = 6;

}  // namespace

CrashBook CrashBook::from_text(std::string_view text) {
  CrashBook book;
  const Result<Json> json = parse_json(text, "the crash book", kDepth);
  if (!json.ok()) return book;
  for (const Json& item : json->at("models").as_array()) {
    Entry entry{
        item.at("key").as_string(), item.at("name").as_string(), {}, item.at("held_until_unix_ms").as_int()};
    for (const Json& time : item.at("crashes_unix_ms").as_array()) entry.crashes.push_back(time.as_int());
    const bool whole = !entry.key.empty() && !entry.crashes.empty() &&
                       entry.crashes.size() <= limits::kCrashesMax && entry.crashes.front() > 0 &&
                       std::is_sorted(entry.crashes.begin(), entry.crashes.end()) && entry.held_until >= 0 &&
                       entry.held_until - entry.crashes.back() <= kHold;
    if (!whole || book.entries_.size() == limits::kCrashBookModels) return {};
    book.entries_.push_back(std::move(entry));
  }
  return book;
}

std::string CrashBook::text() const {
  Json models = Json::array();
  for (const Entry& e : entries_) {
    Json times = Json::array();
    for (const int64_t t : e.crashes) times.push(t);
    Json item = Json::object().set("key", e.key).set("name", e.name);
    item.set("crashes_unix_ms", std::move(times)).set("held_until_unix_ms", e.held_until);
    models.push(std::move(item));
  }
  return Json::object().set("models", std::move(models)).dump() + "\n";
}

void CrashBook::forget_old(int64_t now_ms) {
  std::erase_if(entries_, [&](const Entry& e) {
    const int64_t last = std::max(e.crashes.back(), e.held_until);
    return e.crashes.back() > now_ms || now_ms - last >= kWindow;
  });
}

void CrashBook::crashed(const std::string& key, const std::string& name, int64_t now_ms) {
  forget_old(now_ms);
  Entry entry{key, name, {}, 0};
  const auto known =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.key == key; });
  if (known != entries_.end()) {
    entry = std::move(*known);
    entries_.erase(known);
  }
  const bool again = entry.held_until != 0;  // and not long enough ago to be forgotten
  std::erase_if(entry.crashes, [&](int64_t t) { return now_ms - t >= kWindow; });
  entry.crashes.push_back(now_ms);
  if (entry.crashes.size() > limits::kCrashesMax) entry.crashes.erase(entry.crashes.begin());
  if (again || entry.crashes.size() == limits::kCrashesMax) entry.held_until = now_ms + kHold;
  if (entries_.size() == limits::kCrashBookModels) entries_.erase(entries_.begin());
  entries_.push_back(std::move(entry));
}

bool CrashBook::served(const std::string& key) {
  return std::erase_if(entries_, [&](const Entry& e) { return e.key == key; }) != 0;
}

uint64_t CrashBook::held_ms(const std::string& key, int64_t now_ms) const {
  for (const Entry& e : entries_)
    if (e.key == key) return anelane::held_ms(e, now_ms);
  return 0;
}

uint64_t held_ms(const CrashBook::Entry& entry, int64_t now_ms) {
  const bool held = entry.crashes.back() <= now_ms && now_ms < entry.held_until;
  return held ? static_cast<uint64_t>(entry.held_until - now_ms) : 0;
}

}  // namespace anelane
