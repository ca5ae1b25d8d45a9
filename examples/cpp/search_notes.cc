// Embeds a folder of notes and finds those that mean what you ask for.
//
//     search_notes MODEL_FOLDER NOTES_FOLDER QUESTION… [--top N] [--lane-dir FOLDER]
//
// Reads *.txt and *.md below NOTES_FOLDER, in pieces that fit the model, cut between paragraphs where it can
// and between words where it must. Files that cannot be read, or are not UTF-8, are named and left out.
// --lane-dir is a lane of its own in that folder, rather than the user's.
#include <algorithm>
#include <anelane.hpp>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kBatch = 64, kShown = 70;  // pieces in one call, characters of a hit
constexpr auto kPatience = 10min;                // for one call: a compile, and the queue before it

struct Piece {
  std::string path, text;
  std::vector<float> vector;
};

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "search_notes: %s\n", what.c_str());
  std::exit(1);
}
// What a call gave, or the end of this program.
template <class T>
T need(anelane::Result<T> result) {
  if (result) return *std::move(result);
  char text[1024];
  result.error().text(text, sizeof text);
  fail(text);
}
void leave_out(const fs::path& path, std::string_view why) {
  std::fprintf(stderr, "search_notes: left out: %s: %.*s\n", path.c_str(), static_cast<int>(why.size()),
               why.data());
}

// ---- notes
std::vector<fs::path> notes_below(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const fs::path& path = entry->path();
    std::error_code unknown;  // of a link to nowhere: no note
    if (path.filename().native()[0] == '.') continue;
    if (fs::is_directory(entry->symlink_status(unknown))) {
      const std::vector<fs::path> below = notes_below(path);
      found.insert(found.end(), below.begin(), below.end());
    } else if ((path.extension() == ".txt" || path.extension() == ".md") && entry->is_regular_file(unknown)) {
      found.push_back(path);
    }
  }
  if (error) leave_out(folder, error.message());
  return found;
}

// Cuts texts into pieces that fit the model.
class Cutter {
 public:
  Cutter(const anelane::Tokenizer& tokenizer, std::size_t ceiling)
      : tokenizer_(tokenizer), special_(count("")), room_(ceiling - special_) {}

  // Words are what lies between spaces and control characters. A paragraph ends at a line without words.
  std::vector<std::string> cut(std::string_view text) {
    pieces_.clear();
    piece_.clear();
    paragraph_ = before_ = within_ = 0;
    for (std::size_t i = 0; i < text.size();) {
      std::size_t lines = 0, begin;
      for (begin = i; begin < text.size() && is_gap(text[begin]); begin++) lines += text[begin] == '\n';
      for (i = begin; i < text.size() && !is_gap(text[i]);) i++;
      if (begin < i) add(text.substr(begin, i - begin), lines > 1);
    }
    end_piece(piece_.size());
    return std::move(pieces_);
  }

 private:
  static bool is_gap(char c) { return static_cast<unsigned char>(c) <= ' '; }
  std::size_t count(std::string_view text) const { return need(tokenizer_.tokenize(text, {})); }
  std::size_t tokens(std::string_view text) const { return count(text) - special_; }

  void add(std::string_view word, bool new_paragraph) {
    if (new_paragraph) {
      paragraph_ = piece_.size();
      before_ += std::exchange(within_, 0);
    }
    std::size_t cost = tokens(word);
    while (!piece_.empty() && before_ + within_ + cost > room_) {
      if (paragraph_ == 0) within_ = 0;  // no other paragraph is in it: cut between words
      end_piece(paragraph_ == 0 ? piece_.size() : paragraph_);
    }
    while (cost > room_) {  // a word that is too long by itself: halves, between characters
      std::size_t part = word.size();
      while (tokens(word.substr(0, part)) > room_)
        for (part /= 2; (word[part] & 0xc0) == 0x80;) part--;
      pieces_.emplace_back(word.substr(0, part));
      word.remove_prefix(part);
      cost = tokens(word);
    }
    if (!piece_.empty()) piece_ += ' ';
    piece_ += word;
    within_ += cost;
  }
  // The first bytes of the piece are one, what follows begins the next.
  void end_piece(std::size_t bytes) {
    if (bytes > 0) pieces_.push_back(piece_.substr(0, bytes));
    piece_.erase(0, bytes + 1);
    paragraph_ = before_ = 0;
  }

  const anelane::Tokenizer& tokenizer_;
  std::size_t special_, room_;  // tokens that every text has, and what is left for its words
  std::vector<std::string> pieces_;
  std::string piece_;
  std::size_t paragraph_ = 0;            // where the last paragraph of the piece begins
  std::size_t before_ = 0, within_ = 0;  // tokens of the piece before that, and from there
};

// Nothing: it cannot be read, and errno says why.
std::optional<std::string> contents(const fs::path& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (!file) return std::nullopt;
  std::string text;
  char block[65536];
  while (const std::size_t got = std::fread(block, 1, sizeof block, file.get())) text.append(block, got);
  if (std::ferror(file.get())) return std::nullopt;
  return text;
}

std::vector<Piece> pieces_below(const std::string& folder, const std::string& model_folder) {
  const std::size_t ceiling = need(anelane::Model::inspect(model_folder)).ceiling;
  const anelane::Tokenizer tokenizer = need(anelane::Tokenizer::load(model_folder));
  Cutter cutter(tokenizer, ceiling);
  std::vector<fs::path> paths = notes_below(folder);
  std::sort(paths.begin(), paths.end(), [](const auto& a, const auto& b) { return a.native() < b.native(); });
  std::vector<Piece> pieces;
  for (const fs::path& path : paths) {
    const std::optional<std::string> text = contents(path);
    if (!text) {
      leave_out(path, std::strerror(errno));
      continue;
    }
    auto utf8 = tokenizer.tokenize(path.native(), {});
    if (utf8) utf8 = tokenizer.tokenize(*text, {});
    if (!utf8) {
      leave_out(path, utf8.error().message());
      continue;
    }
    std::string_view words = *text;
    if (words.substr(0, 3) == "\xef\xbb\xbf") words.remove_prefix(3);  // a byte order mark
    for (std::string& piece : cutter.cut(words))
      pieces.push_back({path.lexically_relative(folder), std::move(piece), {}});
  }
  return pieces;
}

// ---- the engine
// Says why it takes so long, but nothing for the first second of a shape: most waits are shorter.
void progress(void*, std::uint32_t shape, std::uint32_t layer, std::uint32_t layers, std::uint64_t) {
  static std::chrono::steady_clock::time_point start;  // one thread calls this
  const auto now = std::chrono::steady_clock::now();
  if (layer <= 1) start = now;
  if (now - start < 1s) return;
  std::fprintf(stderr, "preparing the model for this machine, once: shape %u, layer %u of %u\n", shape, layer,
               layers);
}

// Asks again when the error says that it helps, as docs/waits.md tells.
anelane::Vectors embed(const anelane::Model& model, anelane::Span<const std::string> texts) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    auto vectors = model.embed_texts(texts, end - std::chrono::steady_clock::now());
    const auto pause = vectors.error().retry_after();
    if (vectors || !vectors.error().transient() || !vectors.error().safe_to_retry() || !pause ||
        std::chrono::steady_clock::now() + *pause >= end)
      return need(std::move(vectors));
    std::this_thread::sleep_for(*pause);
  }
}

double cosine(anelane::Span<const float> a, const std::vector<float>& b) {
  double dot = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); i++) {
    dot += static_cast<double>(a[i]) * b[i];
    aa += static_cast<double>(a[i]) * a[i];
    bb += static_cast<double>(b[i]) * b[i];
  }
  return dot / std::sqrt(aa * bb);
}

void print_nearest(anelane::Span<const float> asked, const std::vector<Piece>& pieces, std::size_t top) {
  std::vector<std::pair<double, const Piece*>> hits;
  for (const Piece& piece : pieces) hits.emplace_back(cosine(asked, piece.vector), &piece);
  std::stable_sort(hits.begin(), hits.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  hits.resize(std::min(hits.size(), top));
  for (const auto& [cosine, piece] : hits) {
    std::size_t bytes = 0, shown = 0;
    for (; bytes < piece->text.size(); bytes++)
      if ((piece->text[bytes] & 0xc0) != 0x80 && ++shown > kShown) break;
    std::printf("  %.3f  %s: %s\n", cosine, piece->path.c_str(), piece->text.substr(0, bytes).c_str());
  }
}

int usage() {
  std::fprintf(stderr,
               "usage: search_notes MODEL_FOLDER NOTES_FOLDER QUESTION... [--top N] [--lane-dir FOLDER]\n");
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> words;
  anelane::LaneOptions lane_options;
  long top = 3;
  for (int i = 1; i < argc; i++) {
    const std::string word = argv[i];
    char* rest = nullptr;
    if (word.substr(0, 2) != "--")
      words.push_back(word);
    else if (word == "--lane-dir" && i + 1 < argc)
      lane_options.lock_dir = argv[++i];
    else if (word != "--top" || i + 1 == argc || (top = std::strtol(argv[++i], &rest, 10)) < 1 || *rest != 0)
      return usage();
  }
  if (words.size() < 3) return usage();
  const std::string &model_folder = words[0], &notes_folder = words[1];
  const anelane::Span<const std::string> questions(&words[2], words.size() - 2);

  std::error_code unknown;
  if (!fs::is_directory(notes_folder, unknown)) fail("there is no folder " + notes_folder);
  std::vector<Piece> pieces = pieces_below(notes_folder, model_folder);
  if (pieces.empty()) fail("there is no text in *.txt and *.md files below " + notes_folder);

  anelane::ModelOptions model_options;
  model_options.progress = progress;
  const anelane::Lane lane = need(anelane::Lane::open(lane_options, 10s));
  const anelane::Model model = need(lane.load(model_folder, model_options, kPatience));
  const anelane::Vectors asked = embed(model, questions);
  for (std::size_t first = 0; first < pieces.size(); first += kBatch) {
    std::vector<std::string> texts;
    for (std::size_t i = first; i < std::min(first + kBatch, pieces.size()); i++)
      texts.push_back(pieces[i].text);
    const anelane::Vectors vectors = embed(model, texts);
    for (std::size_t i = 0; i < texts.size(); i++)
      pieces[first + i].vector.assign(vectors[i].begin(), vectors[i].end());
  }

  for (std::size_t i = 0; i < questions.size(); i++) {
    std::printf("%s\n", questions[i].c_str());
    print_nearest(asked[i], pieces, static_cast<std::size_t>(top));
  }
}
