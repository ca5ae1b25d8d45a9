// Embeds the texts of the command line, then those of the files, in this order; the vectors come out in the
// same. All or nothing: where one text is refused, no vector is printed. Texts are tokenized before the lane
// is asked for, which is cheap and needs none: a text that is too long is refused by file and line, before
// anybody waits or compiles. Texts that have their vectors when the library says "not yet" are not sent
// again. Without
// --json the output is for people: one line a text, the first numbers of its vector and its length. Main
// thread only.
#include "embed.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "json_text.h"
#include "report.h"
#include "retry.h"
#include "text_input.h"

namespace anelane_tool {
namespace {

using TokenLists = std::vector<std::vector<int32_t>>;

struct Vectors {
  size_t dim = 0;
  std::vector<float> values;  // one row of dim floats for each text
  const float* row(size_t i) const { return values.data() + i * dim; }
};

// The texts to embed, or the exit code that says why not.
int gather_texts(const EmbedFlags& flags, std::vector<InputText>* out) {
  if (flags.texts.empty() && flags.files.empty()) {
    complain("embed: nothing to embed: give --text or --file");
    return kExitUsage;
  }
  for (const std::string& text : flags.texts) {
    std::string where = "--text number " + std::to_string(out->size() + 1);
    if (const auto fault = text_fault(text)) {
      complain("embed: " + where + ": " + *fault);
      return kExitRefused;
    }
    out->push_back({text, std::move(where)});
  }
  for (const std::string& file : flags.files) {
    if (const auto fault = read_lines(file, out)) {
      complain("embed: " + *fault);
      return kExitRefused;
    }
  }
  return kExitDone;
}

// The library's error about one item, with the words that lead its user to the text in place of its index,
// which counts from 0 and over all flags.
anelane_error about(const InputText& text, anelane_error error) {
  error.item = -1;
  const std::string message = text.where + ": " + error.message;
  error.message[message.copy(error.message, sizeof error.message - 1)] = '\0';
  return error;
}

class Tokenizer {
 public:
  Tokenizer() = default;
  ~Tokenizer() { anelane_tokenizer_release(handle_); }
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;
  anelane_status load(const std::string& model_dir, anelane_error* err) {
    return anelane_tokenizer_load(model_dir.c_str(), &handle_, err);
  }
  anelane_status encode(const std::string& text, std::vector<int32_t>* ids, anelane_error* err) const {
    ids->resize(text.size() + 8);  // as many as there can be, or nearly so
    size_t count = 0;
    anelane_status status =
        anelane_tokenize(handle_, text.data(), text.size(), ids->data(), ids->size(), &count, err);
    if (status == ANELANE_OK && count > ids->size()) {
      ids->resize(count);
      status = anelane_tokenize(handle_, text.data(), text.size(), ids->data(), ids->size(), &count, err);
    }
    ids->resize(status == ANELANE_OK ? count : 0);
    return status;
  }

 private:
  anelane_tokenizer handle_ = {};
};

anelane_error too_long(size_t item, size_t tokens, uint32_t ceiling, const std::string& model) {
  anelane_error error = new_error();
  error.status = ANELANE_SEQUENCE_TOO_LONG;
  error.error_class = ANELANE_PERMANENT;
  error.item = static_cast<int64_t>(item);
  error.limit = ceiling;
  std::snprintf(error.model, sizeof error.model, "%s", model.c_str());
  std::snprintf(error.message, sizeof error.message,
                "%zu tokens, the model takes at most %u; split it, nothing is truncated", tokens, ceiling);
  return error;
}

// The token ids of all texts, none longer than the model takes; or the exit code.
int tokenize(const EmbedFlags& flags, const std::vector<InputText>& texts, TokenLists* out) {
  anelane_error err = new_error();
  anelane_model_info info = {};
  info.struct_size = sizeof info;
  if (anelane_model_inspect(flags.model_dir.c_str(), &info, &err) != ANELANE_OK) return report(err);
  if (info.kind == ANELANE_PROGRAM) {
    complain("embed: " + flags.model_dir +
             " is made of programs and gives no vectors of texts: `anelane mil run` runs one, " +
             "docs/programs.md says how to run the model");
    return kExitRefused;
  }
  Tokenizer tokenizer;
  if (tokenizer.load(flags.model_dir, &err) != ANELANE_OK) return report(err);
  out->resize(texts.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    std::vector<int32_t>& ids = (*out)[i];
    if (tokenizer.encode(texts[i].text, &ids, &err) != ANELANE_OK) return report(about(texts[i], err));
    if (ids.size() > info.ceiling)
      return report(about(texts[i], too_long(i, ids.size(), info.ceiling, model_name(flags.model_dir))));
    ids.shrink_to_fit();
  }
  return kExitDone;
}

// One call for all texts that have no vector yet.
anelane_status embed_missing(anelane_model model, const TokenLists& tokens, uint64_t deadline,
                             std::vector<bool>* done, Vectors* out, anelane_error* err) {
  std::vector<size_t> missing;
  std::vector<anelane_tokens> items;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if ((*done)[i]) continue;
    missing.push_back(i);
    items.push_back({tokens[i].data(), tokens[i].size()});
  }
  std::vector<float> rows(missing.size() * out->dim);
  std::vector<anelane_status> statuses(missing.size(), ANELANE_PENDING);
  const anelane_status status =
      anelane_embed(model, items.data(), items.size(), rows.data(), 0, statuses.data(), deadline, err);
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

void print_for_people(const EmbedFlags& flags, anelane_engine engine, const std::vector<InputText>& texts,
                      const Vectors& vectors) {
  constexpr size_t kShown = 6;
  std::printf("%s on the %s engine: %zu numbers for each text\n", model_name(flags.model_dir).c_str(),
              engine_name(engine), vectors.dim);
  for (size_t i = 0; i < texts.size(); ++i) {
    double squares = 0;
    for (size_t k = 0; k < vectors.dim; ++k) squares += double{vectors.row(i)[k]} * vectors.row(i)[k];
    std::printf("%s:", excerpt(texts[i].text).c_str());
    for (size_t k = 0; k < vectors.dim && k < kShown; ++k) std::printf(" % .5f", double{vectors.row(i)[k]});
    std::printf("%s  length %.5f\n", vectors.dim > kShown ? " …" : "", std::sqrt(squares));
  }
}

}  // namespace

std::string model_name(const std::string& model_dir) {
  // A model of programs may have a name of its own; the library goes by it, too.
  std::ifstream manifest(model_dir + "/program.json", std::ios::binary);
  if (manifest) {
    const auto json = nlohmann::json::parse(manifest, nullptr, false);
    if (json.is_object() && json.contains("name") && json["name"].is_string() && !json["name"].empty())
      if (const std::string name = json["name"].get<std::string>(); !name.empty()) return name;
  }
  std::error_code ignored;
  std::filesystem::path path = std::filesystem::absolute(model_dir, ignored).lexically_normal();
  if (path.filename().empty()) path = path.parent_path();
  return path.filename().string();
}

int run_embed(const EmbedFlags& flags) {
  const uint64_t deadline = deadline_after_ms(flags.deadline_ms);
  std::vector<InputText> texts;
  if (const int code = gather_texts(flags, &texts); code != kExitDone) return code;
  TokenLists tokens;
  if (const int code = tokenize(flags, texts, &tokens); code != kExitDone) return code;
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
    return embed_missing(session.model(), tokens, deadline, &done, &vectors, e);
  };
  const anelane_status status = with_patience(deadline, real_clock(), attempt, &err);
  line.erase();
  if (status != ANELANE_OK) {
    const auto item = static_cast<uint64_t>(err.item);
    return report(item < texts.size() ? about(texts[item], err) : err);
  }
  const anelane_engine engine = session.info().engine;
  if (session.close(&err) != ANELANE_OK) return report(err);
  if (flags.json)
    print_json(flags, engine, texts.size(), vectors);
  else
    print_for_people(flags, engine, texts, vectors);
  return finish_output();
}

}  // namespace anelane_tool
