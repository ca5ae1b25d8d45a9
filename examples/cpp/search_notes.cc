// Embeds a folder of notes and finds those that mean what you ask for.
//
//     search_notes MODEL_FOLDER NOTES_FOLDER QUESTION… [--top N] [--lock-dir FOLDER]
//
// Reads *.txt and *.md below NOTES_FOLDER, in pieces that fit the model, cut between paragraphs where it can
// and between words where it must. Files that cannot be read, or are not UTF-8, are named and left out.
// --lock-dir is a lane of its own in that folder, rather than the user's.
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
void leave_out(const fs::path& path, const std::string& why) {
  std::fprintf(stderr, "search_notes: left out: %s: %s\n", path.c_str(), why.c_str());
}

// ---- notes
// Links to files are followed, those to folders are not; what begins with a dot is hidden.
void find_notes(const fs::path& folder, std::vector<fs::path>* found) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const fs::path& path = entry->path();
    std::error_code unknown;  // of a link to nowhere: no note
    if (path.filename().native()[0] == '.') continue;
    if (fs::is_directory(entry->symlink_status(unknown))) {
      find_notes(path, found);
    } else if ((path.extension() == ".txt" || path.extension() == ".md") && entry->is_regular_file(unknown)) {
      found->push_back(path);
    }
  }
  if (error) leave_out(folder, error.message());
}

bool is_gap(char c) {
  return static_cast<unsigned char>(c) <= ' ';
}

void append(std::string* words, std::string_view more) {
  if (!words->empty() && !more.empty()) *words += ' ';
  *words += more;
}

// Pieces that fit the model. Words are what lies between spaces and control characters; a paragraph ends at a
// line without words.
std::vector<std::string> cut(std::string_view text, const anelane::Tokenizer& tokenizer,
                             std::size_t ceiling) {
  const auto count = [&](std::string_view part) { return need(tokenizer.tokenize(part, {})); };
  const std::size_t special = count(""), room = ceiling - special;
  std::vector<std::string> pieces;
  std::string before, within;        // the piece before its last paragraph, and that
  std::size_t used = 0, recent = 0;  // their tokens
  for (std::size_t i = 0; i < text.size();) {
    std::size_t lines = 0, begin;
    for (begin = i; begin < text.size() && is_gap(text[begin]); begin++) lines += text[begin] == '\n';
    for (i = begin; i < text.size() && !is_gap(text[i]);) i++;
    std::string_view word = text.substr(begin, i - begin);
    if (word.empty()) break;
    if (lines > 1) {
      append(&before, std::exchange(within, {}));
      used += std::exchange(recent, 0);
    }
    std::size_t cost = count(word) - special;
    while (!(before.empty() && within.empty()) && used + recent + cost > room) {
      const bool last = before.empty();
      pieces.push_back(std::exchange(last ? within : before, {}));
      (last ? recent : used) = 0;
    }
    while (cost > room) {  // a word that is too long by itself: halves, between characters
      std::size_t part = word.size();
      while (count(word.substr(0, part)) > ceiling)
        for (part /= 2; (word[part] & 0xc0) == 0x80;) part--;
      pieces.emplace_back(word.substr(0, part));
      word.remove_prefix(part);
      cost = count(word) - special;
    }
    append(&within, word);
    recent += cost;
  }
  append(&before, within);
  if (!before.empty()) pieces.push_back(before);
  return pieces;
}

// Nothing: it cannot be read, and errno says why.
std::optional<std::string> contents(const fs::path& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (!file) return std::nullopt;
  std::string text;
  char block[65536];
  while (const std::size_t got = std::fread(block, 1, sizeof block, file.get())) text.append(block, got);
  return std::ferror(file.get()) ? std::nullopt : std::optional(text);
}

std::vector<Piece> pieces_below(const std::string& folder, const std::string& model_folder) {
  const std::size_t ceiling = need(anelane::Model::inspect(model_folder)).ceiling;
  const anelane::Tokenizer tokenizer = need(anelane::Tokenizer::load(model_folder));
  std::vector<fs::path> paths;
  find_notes(folder, &paths);
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
      leave_out(path, std::string(utf8.error().message()));
      continue;
    }
    const bool marked = text->compare(0, 3, "\xef\xbb\xbf") == 0;  // a byte order mark
    for (std::string& piece : cut(std::string_view(*text).substr(marked ? 3 : 0), tokenizer, ceiling))
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
               "usage: search_notes MODEL_FOLDER NOTES_FOLDER QUESTION... [--top N] [--lock-dir FOLDER]\n");
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> words;
  fs::path lock_dir;
  long top = 3;
  for (int i = 1; i < argc; i++) {
    const std::string word = argv[i];
    char* rest = nullptr;
    if (word.substr(0, 2) != "--")
      words.push_back(word);
    else if (word == "--lock-dir" && i + 1 < argc)
      lock_dir = fs::current_path() / argv[++i];  // the library takes absolute paths only
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

  anelane::LaneOptions lane_options;
  anelane::ModelOptions model_options;
  if (!lock_dir.empty()) lane_options.lock_dir = lock_dir.c_str();
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
