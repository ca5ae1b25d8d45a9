// Codes changed between generations of the system for the same event, so a row looks at domain, code and
// words together; the first row that fits decides. A row with kAnyCode or without words fits all. The words
// are those of the error and of the errors under it.
//
// What follows from the code: COMPILE_FAILED is deterministic and remembered (L4.16). RESOURCES_EXHAUSTED
// makes the lane evict and try again (L4.15). ENGINE_UNAVAILABLE ends the attempt: compiling cannot cure it.
// IO of a held program makes the loader compile it anew (L8.2). The original stays in the message, whatever
// the row.
#include "ane_direct/apple/engine_error.h"

#include <array>
#include <cstdio>
#include <string_view>

#include "ane_direct/content_id.h"
#include "base/limits.h"

namespace anelane::apple {
namespace {

constexpr std::string_view kEngine = "com.apple.appleneuralengine";
constexpr std::string_view kCompiler = "com.apple.appleneuralengine.compiler";
constexpr std::string_view kEspresso = "com.apple.appleneuralengine.espresso";
constexpr std::string_view kCocoa = "NSCocoaErrorDomain";
constexpr std::string_view kAnyDomain = "";
constexpr int64_t kAnyCode = -1;

struct Row {
  std::string_view domain;
  int64_t code;
  std::string_view words;  // "": any
  Code meaning;
  const char* hint;
  bool load_only = false;  // the same words at another stage mean something else
};

constexpr const char* kFull =
    "the machine's pool of programs is full; release shapes here or end other users of the engine";
constexpr const char* kRestart = "the engine's service has failed; ask again";
constexpr const char* kOurs = "anelane bound a program wrongly: please report this";

constexpr std::array kRows{
    // The compiler's verdict on a program.
    Row{kCompiler, kAnyCode, "InvalidMILProgram", Code::kCompileFailed,
        "the compiler does not accept the MIL text on this system"},
    Row{kCompiler, kAnyCode, "InvalidCompilationParam", Code::kCompileFailed,
        "the compiler does not accept its options"},
    Row{kCompiler, kAnyCode, "CompilationFailure", Code::kCompileFailed,
        "the compiler cannot place the program on the engine"},
    Row{kEspresso, kAnyCode, "", Code::kCompileFailed, "the compiler's front end refuses the program"},
    // The machine is full, which only a load can say. 54 is of 27; 6 with 0x5, and 4 with it, of the systems
    // before.
    Row{kEngine, 54, "", Code::kResourcesExhausted, kFull, true},
    Row{kAnyDomain, kAnyCode, "no ANE resources", Code::kResourcesExhausted, kFull, true},
    Row{kEngine, kAnyCode, "(underlying=0x5)", Code::kResourcesExhausted, kFull, true},
    Row{kEngine, 6, "(0x5)", Code::kResourcesExhausted, kFull, true},
    Row{kEngine, 4, "(0x5)", Code::kResourcesExhausted, kFull, true},
    Row{kAnyDomain, kAnyCode, "must re-compile", Code::kResourcesExhausted, kFull, true},
    Row{kEngine, kAnyCode, "0x50004", Code::kCompileFailed,
        "the program's weights are more than the engine maps (4 GiB)"},
    // Words of 27 without a number of their own.
    Row{kEngine, kAnyCode, "no memory", Code::kOutOfMemory, "the system has no memory for the program"},
    Row{kEngine, kAnyCode, "bad program image", Code::kIo, "the compiled copy is unusable"},
    Row{kEngine, kAnyCode, "operation not permitted", Code::kEngineUnavailable,
        "this process may not use the engine: check its signature and sandbox"},
    Row{kEngine, kAnyCode, "hardware/firmware failure", Code::kEngineCrashed, kRestart},
    Row{kEngine, kAnyCode, "pre-empted", Code::kEngineCrashed,
        "a request of higher priority took the engine; ask again"},
    Row{kEngine, kAnyCode, "0xe00002e2", Code::kEngineUnavailable, "the system did not sign the program"},
    Row{kAnyDomain, kAnyCode, "0xe00002c7", Code::kEngineUnavailable,
        "this process may not use the engine: check its signature and sandbox"},
    Row{kAnyDomain, kAnyCode, "0xe00002c2", Code::kInternal, kOurs},
    // By number.
    Row{kEngine, 1, "", Code::kEngineUnavailable, "the call needs an entitlement of Apple's"},
    Row{kEngine, 2, "", Code::kEngineUnavailable, "the call needs an entitlement of Apple's"},
    Row{kEngine, 3, "", Code::kEngineCrashed, "the engine's service did not answer in time"},
    Row{kEngine, 4, "", Code::kIo, "the program could not be created"},
    Row{kEngine, 5, "", Code::kInternal, "a value overflowed on the engine"},
    Row{kEngine, 6, "", Code::kIo, "the program does not load"},
    Row{kEngine, 7, "", Code::kEngineUnavailable,
        "the executable has no code signature: sign it with codesign -s - -i org.anelane.worker"},
    Row{kEngine, 8, "status=0x1d", Code::kInternal, kOurs},
    Row{kEngine, 8, "status=0x12", Code::kInternal, "a buffer could not be mapped for the engine"},
    Row{kEngine, 8, "status=0xe ", Code::kEngineCrashed, "the service lost the program"},
    Row{kEngine, 8, "", Code::kEngineCrashed, kRestart},
    Row{kEngine, 9, "", Code::kIo, "the service cannot read the staged files"},
    Row{kEngine, 10, "", Code::kIo,
        "the system does not accept the staged files: leave TMPDIR alone, or use the client route"},
    Row{kEngine, 11, "", Code::kInternal, kOurs},
    Row{kEngine, 12, "", Code::kInternal, kOurs},
    Row{kEngine, 13, "", Code::kInternal, "buffers could not be mapped for the engine"},
    Row{kEngine, 14, "", Code::kInternal, "buffers could not be unmapped from the engine"},
    Row{kEngine, 15, "", Code::kInternal, kOurs},
    Row{kEngine, 16, "", Code::kIo, "the service does not find the staged files"},
    Row{kEngine, 17, "", Code::kInternal, kOurs},
    Row{kEngine, 18, "", Code::kInternal, kOurs},
    Row{kEngine, 19, "", Code::kInternal, kOurs},
    Row{kEngine, 20, "", Code::kInternal, kOurs},
    Row{kEngine, 21, "", Code::kInternal, kOurs},
    Row{kEngine, 22, "", Code::kEngineUnavailable, "there is no engine in this virtual machine"},
    Row{kEngine, 23, "", Code::kEngineCrashed, "the service lost the program"},
    Row{kEngine, 24, "", Code::kIo, "the service does not find the program's data"},
    Row{kEngine, 25, "", Code::kEngineUnavailable, "this system does not support the call"},
    Row{kEngine, 26, "", Code::kInternal, kOurs},
    Row{kEngine, 27, "", Code::kEngineUnavailable, "there is no engine in this virtual machine"},
    Row{kEngine, 28, "", Code::kEngineUnavailable, "there is no engine in this virtual machine"},
    Row{kEngine, 29, "", Code::kEngineUnavailable, "there is no engine in this virtual machine"},
    Row{kEngine, 42, "", Code::kInternal, kOurs},
    // The connection to the service: interrupted, invalid, no reply.
    Row{kCocoa, 4097, "", Code::kEngineCrashed, kRestart},
    Row{kCocoa, 4099, "", Code::kEngineCrashed, kRestart},
    Row{kCocoa, 4101, "", Code::kEngineCrashed, kRestart},
};

const char* stage_name(Stage stage) {
  switch (stage) {
    case Stage::kCompile:
      return "compile";
    case Stage::kLoad:
      return "load";
    case Stage::kRun:
      return "run";
    case Stage::kUnload:
      return "unload";
  }
  return "";
}

// What decided stands in front: a reader with little room for messages loses their ends.
std::string quoted(std::string_view words) {
  if (words.empty()) return {};
  return words.front() == '(' ? " " + std::string(words) : " (" + std::string(words) + ")";
}

bool contains(std::string_view text, std::string_view words) {
  return text.find(words) != std::string_view::npos;
}

// Of what no row knows: a held program that does not load is worth a compile; a compile that failed has
// failed.
Code unknown(Stage stage) {
  if (stage == Stage::kCompile) return Code::kCompileFailed;
  return stage == Stage::kLoad ? Code::kIo : Code::kInternal;
}

void append_words(const Foundation& foundation, Id error, std::string* text) {
  // Apple's name and GNUstep's.
  for (const char* key : {"NSLocalizedFailureReason", "NSLocalizedFailureReasonErrorKey"})
    if (const auto words = foundation.text_of(foundation.value_of(error, key));
        words && !contains(*text, *words))
      *text += (text->empty() ? "" : ": ") + *words;
}

// A path with a content identifier in it would fill a whole message: its first digits tell enough.
std::string shorten_identifiers(std::string text) {
  constexpr size_t kIdentifier = 194, kShown = 8;
  for (size_t at = 0; at + kIdentifier <= text.size(); ++at)
    if (is_content_id(std::string_view(text).substr(at, kIdentifier)))
      text.replace(at + kShown, kIdentifier - kShown, "…");
  return text;
}

}  // namespace

EngineError read_error(const Foundation& foundation, Id error) {
  constexpr int kDepth = 4;
  EngineError read;
  for (int depth = 0; depth < kDepth && error != nullptr; ++depth) {
    const auto parts = foundation.error_parts(error);
    if (!parts) break;
    if (depth == 0) {
      read.domain = parts->domain;
      read.code = parts->code;
    }
    if (!contains(read.text, parts->description))
      read.text += (read.text.empty() ? "" : "; ") + parts->description;
    append_words(foundation, parts->user_info, &read.text);
    if (const auto status =
            foundation.number_of(foundation.value_of(parts->user_info, "_ANEErrorUnderlyingStatus"));
        status && !contains(read.text, "underlying=")) {
      char hex[40];
      std::snprintf(hex, sizeof hex, " (underlying=0x%llx)", static_cast<unsigned long long>(*status));
      read.text += hex;
    }
    error = foundation.value_of(parts->user_info, "NSUnderlyingError");
    if (error == nullptr) error = foundation.value_of(parts->user_info, "NSUnderlyingErrorKey");
  }
  read.text = shorten_identifiers(std::move(read.text));
  if (read.text.size() > limits::kMaxEngineText) read.text.resize(limits::kMaxEngineText);
  return read;
}

Status classify(Stage stage, const EngineError& found) {
  const std::string place = std::string("the engine refuses to ") + stage_name(stage);
  if (found.domain.empty() && found.text.empty()) {
    // The wrapper could not write its own files, or the request was not valid: it gives no reason for either.
    if (stage == Stage::kRun) return error(Code::kInternal, place + " without a reason: " + kOurs);
    return error(Code::kIo, place + " without a reason; is the temp folder writable?");
  }
  const std::string original = "[" + found.domain + " " + std::to_string(found.code) + "] " + found.text;
  for (const Row& row : kRows)
    if ((row.domain == kAnyDomain || row.domain == found.domain) &&
        (row.code == kAnyCode || row.code == found.code) && (!row.load_only || stage == Stage::kLoad) &&
        (row.words.empty() || contains(found.text, row.words)))
      return error(row.meaning, place + ": " + row.hint + quoted(row.words) + ": " + original);
  return error(unknown(stage), place + ": " + original);
}

bool is_staging_refusal(const EngineError& error) {
  return error.domain == kEngine && error.code == 10;
}

}  // namespace anelane::apple
