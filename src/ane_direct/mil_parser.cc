// Recursive descent over a grammar that has hardly any recursion:
//   program  = "program" "(" number ")" [ "[" … "]" ] "{" function… "}"
//   function = "func" name "<" name ">" "(" binding, … ")" "{" statement… "}" "->" "(" name, … ")" ";"
//   statement= binding, … "=" name "(" argument, … ")" [ "[" argument, … "]" ] ";"
//   argument = name "=" ( name | "(" name, … ")" | literal )
//   literal  = type "(" ( number | true | false | string | list | BLOBFILE "(" … ")" ) ")"
//   type     = name | "tensor" "<" name "," "[" number, … "]" ">"
// Only lists nest (at most as deep as a tensor has axes) and the skipped program attributes (a counter, no
// recursion), so hostile text can neither exhaust the stack nor, by the bounds of limits.h, the memory.
#include "ane_direct/mil_parser.h"

#include <cmath>

#include "ane_direct/mil_number.h"
#include "base/limits.h"

namespace anelane {
namespace {

class Parser {
 public:
  explicit Parser(std::string_view text) : lexer_(text) {}
  Result<MilProgram> program();

 private:
  Status advance() {
    ANELANE_ASSIGN(token_, lexer_.next());
    return {};
  }
  Status unexpected(std::string_view wanted) const {
    const std::string found = token_.kind == TokenKind::kEnd
                                  ? "the end of the text"
                                  : "\"" + std::string(token_.text.substr(0, 40)) + "\"";
    return invalid_program(token_.place, std::string(wanted) + " expected, found " + found);
  }
  Status expect(char symbol) {
    if (!token_.is(symbol)) return unexpected(std::string("\"") + symbol + "\"");
    return advance();
  }
  Status expect_name(std::string_view name) {
    if (!token_.is_name(name)) return unexpected("\"" + std::string(name) + "\"");
    return advance();
  }
  Result<std::string_view> name(std::string_view what) {
    if (token_.kind != TokenKind::kName) return unexpected(what);
    const std::string_view text = token_.text;
    ANELANE_TRY(advance());
    return text;
  }
  Result<double> number() {
    double value = 0;
    const bool special = token_.is_name("inf") || token_.is_name("nan");
    if ((token_.kind != TokenKind::kNumber && !special) || !parse_number(token_.text, &value))
      return unexpected("a number");
    ANELANE_TRY(advance());
    return value;
  }
  // Calls item() for "open item, item, … close"; the opening symbol is already taken.
  template <class Item>
  Status items(char close, Item item) {
    if (token_.is(close)) return advance();
    for (;;) {
      ANELANE_TRY(item());
      if (token_.is(close)) return advance();
      ANELANE_TRY(expect(','));
    }
  }

  Status skip_attributes();
  Result<Shape> shape();
  Result<MilType> type();
  Status list(size_t depth, std::vector<double>* numbers);
  Status blob(MilLiteral* literal);
  Result<MilLiteral> literal();
  Result<MilArgument> argument();
  Result<MilBinding> binding();
  Result<MilStatement> statement();
  Result<MilFunction> function();

  MilLexer lexer_;
  Token token_;
  size_t statements_ = 0;
  bool in_blob_ = false;
};

// [buildInfo = dict<…>({{…}})]: must be there in form only.
Status Parser::skip_attributes() {
  int depth = 0;
  do {
    if (token_.is('[')) ++depth;
    if (token_.is(']')) --depth;
    if (token_.kind == TokenKind::kEnd) return unexpected("\"]\"");
    ANELANE_TRY(advance());
  } while (depth > 0);
  return {};
}

Result<Shape> Parser::shape() {
  Shape out;
  ANELANE_TRY(expect('['));
  ANELANE_TRY(items(']', [&]() -> Status {
    const Token where = token_;
    ANELANE_ASSIGN(const double axis, number());
    if (!(axis >= 0) || axis > 4294967295.0 || axis != std::floor(axis))
      return invalid_program(where.place, "an axis must be a whole number");
    if (out.size() >= 16) return invalid_program(where.place, "the tensor has too many axes");
    out.push_back(static_cast<uint64_t>(axis));
    return {};
  }));
  return out;
}

Result<MilType> Parser::type() {
  MilType out;
  ANELANE_ASSIGN(out.element, name("a type"));
  if (out.element == "state" || out.element == "tensor_buffer" || out.element == "list" ||
      out.element == "dict")
    return invalid_program(token_.place, "type " + std::string(out.element) + " is not supported");
  if (out.element != "tensor") return out;
  ANELANE_TRY(expect('<'));
  ANELANE_ASSIGN(out.element, name("an element type"));
  ANELANE_TRY(expect(','));
  ANELANE_ASSIGN(out.shape, shape());
  ANELANE_TRY(expect('>'));
  return out;
}

Status Parser::list(size_t depth, std::vector<double>* numbers) {
  if (depth > limits::kMaxRank) return invalid_program(token_.place, "the list is nested too deeply");
  return items(']', [&]() -> Status {
    if (token_.is('[')) {
      ANELANE_TRY(advance());
      return list(depth + 1, numbers);
    }
    if (numbers->size() >= limits::kMaxInlineElements)
      return invalid_program(token_.place, "more than " + std::to_string(limits::kMaxInlineElements) +
                                               " elements in one literal: put them into the weight file");
    if (token_.is_name("true") || token_.is_name("false")) {
      numbers->push_back(token_.text == "true" ? 1 : 0);
      return advance();
    }
    ANELANE_ASSIGN(const double value, number());
    numbers->push_back(value);
    return {};
  });
}

Status Parser::blob(MilLiteral* out) {
  if (in_blob_) return invalid_program(token_.place, "BLOBFILE inside BLOBFILE");
  in_blob_ = true;
  out->is_blob = true;
  ANELANE_TRY(expect_name("BLOBFILE"));
  ANELANE_TRY(expect('('));
  const Status status = items(')', [&]() -> Status {
    ANELANE_ASSIGN(const MilArgument part, argument());
    if (!part.literal || part.literal->is_blob)
      return invalid_program(part.place, "BLOBFILE wants path and offset");
    if (part.name == "path") out->blob_path = part.literal->text;
    if (part.name == "offset" && part.literal->numbers.size() == 1)
      out->blob_offset = part.literal->numbers[0];
    return {};
  });
  in_blob_ = false;
  return status;
}

Result<MilLiteral> Parser::literal() {
  MilLiteral out;
  out.place = token_.place;
  ANELANE_ASSIGN(out.type, type());
  ANELANE_TRY(expect('('));
  if (token_.kind == TokenKind::kString) {
    out.text = token_.text;
    ANELANE_TRY(advance());
  } else if (token_.is('[')) {
    ANELANE_TRY(advance());
    ANELANE_TRY(list(1, &out.numbers));
  } else if (token_.is_name("BLOBFILE")) {
    if (!out.type.shape.empty() || out.type.element == "fp16") {
      ANELANE_TRY(blob(&out));
    } else {
      return unexpected("a value");
    }
  } else if (token_.is_name("true") || token_.is_name("false")) {
    out.numbers.push_back(token_.text == "true" ? 1 : 0);
    ANELANE_TRY(advance());
  } else {
    ANELANE_ASSIGN(const double value, number());
    out.numbers.push_back(value);
  }
  ANELANE_TRY(expect(')'));
  return out;
}

Result<MilArgument> Parser::argument() {
  MilArgument out;
  out.place = token_.place;
  ANELANE_ASSIGN(out.name, name("a parameter"));
  ANELANE_TRY(expect('='));
  if (token_.is('(')) {
    ANELANE_TRY(advance());
    ANELANE_TRY(items(')', [&]() -> Status {
      ANELANE_ASSIGN(const std::string_view value, name("a value"));
      out.values.push_back(value);
      return {};
    }));
    return out;
  }
  if (token_.kind != TokenKind::kName) return unexpected("a value");
  // A name alone is a value; a name that goes on is the type of a literal.
  MilLexer ahead = lexer_;
  ANELANE_ASSIGN(const Token after, ahead.next());
  if (after.is('(') || after.is('<')) {
    ANELANE_ASSIGN(out.literal, literal());
  } else {
    out.values.push_back(token_.text);
    ANELANE_TRY(advance());
  }
  return out;
}

Result<MilBinding> Parser::binding() {
  MilBinding out;
  out.place = token_.place;
  ANELANE_ASSIGN(out.type, type());
  ANELANE_ASSIGN(out.name, name("the name of a value"));
  return out;
}

Result<MilStatement> Parser::statement() {
  MilStatement out;
  if (++statements_ > limits::kMaxMilStatements)
    return invalid_program(token_.place,
                           "more than " + std::to_string(limits::kMaxMilStatements) + " statements");
  for (;;) {
    ANELANE_ASSIGN(MilBinding result, binding());
    out.results.push_back(std::move(result));
    if (!token_.is(',')) break;
    ANELANE_TRY(advance());
  }
  ANELANE_TRY(expect('='));
  out.place = token_.place;
  ANELANE_ASSIGN(out.op, name("an operation"));
  if (token_.is('<')) {  // an opset for this operation alone
    ANELANE_TRY(advance());
    ANELANE_TRY(name("an opset").status());
    ANELANE_TRY(expect('>'));
  }
  const auto into = [&](std::vector<MilArgument>* list) {
    return [this, list]() -> Status {
      ANELANE_ASSIGN(MilArgument one, argument());
      if (list->size() >= limits::kMaxMilArguments) return invalid_program(one.place, "too many arguments");
      list->push_back(std::move(one));
      return {};
    };
  };
  ANELANE_TRY(expect('('));
  ANELANE_TRY(items(')', into(&out.arguments)));
  if (token_.is('[')) {
    ANELANE_TRY(advance());
    ANELANE_TRY(items(']', into(&out.attributes)));
  }
  ANELANE_TRY(expect(';'));
  return out;
}

Result<MilFunction> Parser::function() {
  MilFunction out;
  out.place = token_.place;
  ANELANE_TRY(expect_name("func"));
  ANELANE_ASSIGN(out.name, name("the name of the function"));
  ANELANE_TRY(expect('<'));
  ANELANE_ASSIGN(out.opset, name("an opset"));
  ANELANE_TRY(expect('>'));
  ANELANE_TRY(expect('('));
  ANELANE_TRY(items(')', [&]() -> Status {
    ANELANE_ASSIGN(MilBinding input, binding());
    out.inputs.push_back(std::move(input));
    return {};
  }));
  if (token_.is('[')) ANELANE_TRY(skip_attributes());
  ANELANE_TRY(expect('{'));
  while (!token_.is('}')) {
    ANELANE_ASSIGN(MilStatement one, statement());
    out.statements.push_back(std::move(one));
  }
  ANELANE_TRY(advance());
  if (token_.kind != TokenKind::kArrow) return unexpected("\"->\"");
  ANELANE_TRY(advance());
  ANELANE_TRY(expect('('));
  ANELANE_TRY(items(')', [&]() -> Status {
    MilArgument result;
    result.place = token_.place;
    ANELANE_ASSIGN(result.name, name("the name of a value"));
    out.returns.push_back(std::move(result));
    return {};
  }));
  ANELANE_TRY(expect(';'));
  return out;
}

Result<MilProgram> Parser::program() {
  MilProgram out;
  ANELANE_TRY(advance());
  ANELANE_TRY(expect_name("program"));
  ANELANE_TRY(expect('('));
  const Token version = token_;
  ANELANE_TRY(number().status());
  if (version.text != "1.0" && version.text != "1.3")
    return invalid_program(version.place, "program version " + std::string(version.text.substr(0, 20)) +
                                              ", 1.0 or 1.3 is needed");
  out.dialect = version.text == "1.0" ? MilDialect::kIos16 : MilDialect::kIos18;
  ANELANE_TRY(expect(')'));
  if (token_.is('[')) ANELANE_TRY(skip_attributes());
  ANELANE_TRY(expect('{'));
  while (!token_.is('}')) {
    ANELANE_ASSIGN(MilFunction one, function());
    out.functions.push_back(std::move(one));
  }
  ANELANE_TRY(advance());
  if (token_.kind != TokenKind::kEnd) return unexpected("the end of the text");
  if (out.functions.empty()) return invalid_program(token_.place, "the program has no function");
  return out;
}

}  // namespace

Result<MilProgram> parse_mil(std::string_view text) {
  if (text.size() > limits::kMaxMilBytes)
    return error(Code::kCompileFailed, "InvalidMILProgram: the text has " + std::to_string(text.size()) +
                                           " bytes, at most " + std::to_string(limits::kMaxMilBytes) +
                                           " are accepted")
        .with_limit(limits::kMaxMilBytes);
  return Parser(text).program();
}

}  // namespace anelane
