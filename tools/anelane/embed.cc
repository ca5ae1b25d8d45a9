// Embeds the texts of the command line, then those of the files, in this order; the vectors come out in the
// same. All or nothing: where one text is refused, no vector is printed. Texts that have their vectors when
// the library says "not yet" are not sent again. Without --json the output is for people: one line a text,
// the first numbers of its vector and its length. Main thread only.
#include "embed.h"

#include <cmath>
#include <cstdio>
#include <filesystem>

#include "json_text.h"
#include "report.h"
#include "retry.h"
#include "text_input.h"

namespace anelane_tool {
namespace {

struct Vectors {
  size_t dim = 0;
  std::vector<float> values;  // one row of dim floats for each text
  const float* row(size_t i) const { return values.data() + i * dim; }
};

// The texts to embed, or the exit code that says why not.
int gather_texts(const EmbedFlags& flags, std::vector<std::string>* out) {
  if (flags.texts.empty() && flags.files.empty()) {
    complain("embed: nothing to embed: give --text or --file");
    return kExitUsage;
  }
  for (const std::string& text : flags.texts) {
    if (const auto fault = text_fault(text)) {
      complain("embed: --text number " + std::to_string(out->size() + 1) + ": " + *fault);
      return kExitRefused;
    }
    out->push_back(text);
  }
  for (const std::string& file : flags.files) {
    if (const auto fault = read_lines(file, out)) {
      complain("embed: " + *fault);
      return kExitRefused;
    }
  }
  return kExitDone;
}

// One call for all texts that have no vector yet.
anelane_status embed_missing(anelane_model model, const std::vector<std::string>& texts, uint64_t deadline,
                             std::vector<bool>* done, Vectors* out, anelane_error* err) {
  std::vector<size_t> missing;
  std::vector<const char*> pointers;
  for (size_t i = 0; i < texts.size(); ++i) {
    if ((*done)[i]) continue;
    missing.push_back(i);
    pointers.push_back(texts[i].c_str());
  }
  std::vector<float> rows(missing.size() * out->dim);
  std::vector<anelane_status> statuses(missing.size(), ANELANE_PENDING);
  const anelane_status status = anelane_embed_texts(model, pointers.data(), pointers.size(), rows.data(), 0,
                                                    statuses.data(), deadline, err);
  for (size_t i = 0; i < missing.size(); ++i) {
    if (status != ANELANE_OK && statuses[i] != ANELANE_OK) continue;
    (*done)[missing[i]] = true;
    std::copy_n(rows.data() + i * out->dim, out->dim, out->values.data() + missing[i] * out->dim);
  }
  // The library counts the items of this call; the user counts the texts.
  if (status != ANELANE_OK && err->item >= 0 && static_cast<uint64_t>(err->item) < missing.size())
    err->item = static_cast<int64_t>(missing[static_cast<size_t>(err->item)]);
  return status;
}

void print_json(const EmbedFlags& flags, anelane_engine engine, size_t count, const Vectors& vectors) {
  std::printf("{\"model\":%s,\"engine\":\"%s\",\"dim\":%zu,\"embeddings\":[",
              json_string(model_name(flags.model_dir)).c_str(), engine_name(engine), vectors.dim);
  std::string row;
  for (size_t i = 0; i < count; ++i) {
    row = i == 0 ? "[" : ",[";
    for (size_t k = 0; k < vectors.dim; ++k) {
      if (k > 0) row += ',';
      row += json_number(vectors.row(i)[k]);
    }
    row += ']';
    std::fputs(row.c_str(), stdout);
  }
  std::fputs("]}\n", stdout);
}

// The beginning of a text, on one line of the terminal.
std::string excerpt(std::string_view text) {
  constexpr size_t kLongest = 40;
  size_t end = 0;
  while (end < text.size() && end < kLongest) end += utf8_length(text.substr(end));
  std::string shown = json_string(text.substr(0, end));
  if (end < text.size()) shown.insert(shown.size() - 1, "…");
  return shown;
}

void print_for_people(const EmbedFlags& flags, anelane_engine engine, const std::vector<std::string>& texts,
                      const Vectors& vectors) {
  constexpr size_t kShown = 6;
  std::printf("%s on the %s engine: %zu numbers for each text\n", model_name(flags.model_dir).c_str(),
              engine_name(engine), vectors.dim);
  for (size_t i = 0; i < texts.size(); ++i) {
    double squares = 0;
    for (size_t k = 0; k < vectors.dim; ++k) squares += double{vectors.row(i)[k]} * vectors.row(i)[k];
    std::printf("%s:", excerpt(texts[i]).c_str());
    for (size_t k = 0; k < vectors.dim && k < kShown; ++k) std::printf(" % .5f", double{vectors.row(i)[k]});
    std::printf("%s  length %.5f\n", vectors.dim > kShown ? " …" : "", std::sqrt(squares));
  }
}

}  // namespace

std::string model_name(const std::string& model_dir) {
  std::error_code ignored;
  std::filesystem::path path = std::filesystem::absolute(model_dir, ignored).lexically_normal();
  if (path.filename().empty()) path = path.parent_path();
  return path.filename().string();
}

int run_embed(const EmbedFlags& flags) {
  std::vector<std::string> texts;
  if (const int code = gather_texts(flags, &texts); code != kExitDone) return code;
  const uint64_t deadline = deadline_after_ms(flags.deadline_ms);
  ProgressLine line;
  Session session(flags.lane, &line);
  anelane_error err = new_error();
  if (session.open(deadline, &err) != ANELANE_OK) return report(err);
  if (session.load(flags.model_dir, deadline, &err) != ANELANE_OK) {
    line.erase();
    return report(err);
  }
  Vectors vectors;
  vectors.dim = session.info().dim;
  vectors.values.resize(texts.size() * vectors.dim);
  std::vector<bool> done(texts.size(), false);
  const auto attempt = [&](anelane_error* e) {
    return embed_missing(session.model(), texts, deadline, &done, &vectors, e);
  };
  const anelane_status status = with_patience(deadline, real_clock(), attempt, &err);
  line.erase();
  if (status != ANELANE_OK) return report(err);
  const anelane_engine engine = session.info().engine;
  if (session.close(&err) != ANELANE_OK) return report(err);
  if (flags.json)
    print_json(flags, engine, texts.size(), vectors);
  else
    print_for_people(flags, engine, texts, vectors);
  return finish_output();
}

}  // namespace anelane_tool
