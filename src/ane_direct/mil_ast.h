// MIL text as written, before anything is known to be right. All texts are views of the source.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "ane_direct/mil_dialect.h"
#include "ane_direct/mil_lexer.h"
#include "ane_direct/shape.h"

namespace anelane {

struct MilType {
  std::string_view element;  // "fp16", "int32", "string", …
  Shape shape;               // rank 0: a scalar
};

struct MilLiteral {
  MilType type;
  SourcePlace place;
  std::vector<double> numbers;  // numbers and bools, row-major
  std::string_view text;        // strings
  bool is_blob = false;
  std::string_view blob_path;
  double blob_offset = 0;
};

// What stands right of "parameter =": names (one, or a tuple), or a literal.
struct MilArgument {
  std::string_view name;
  SourcePlace place;
  std::vector<std::string_view> values;
  std::optional<MilLiteral> literal;
};

struct MilBinding {
  MilType type;
  std::string_view name;
  SourcePlace place;
};

struct MilStatement {
  std::vector<MilBinding> results;
  std::string_view op;
  SourcePlace place;
  std::vector<MilArgument> arguments;
  std::vector<MilArgument> attributes;
};

struct MilFunction {
  std::string_view name;
  std::string_view opset;
  SourcePlace place;
  std::vector<MilBinding> inputs;
  std::vector<MilStatement> statements;
  std::vector<MilArgument> returns;  // name and place only
};

struct MilProgram {
  MilDialect dialect = MilDialect::kIos18;  // by the version in the head
  std::vector<MilFunction> functions;
};

}  // namespace anelane
