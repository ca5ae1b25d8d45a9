// Each rule is a report from the field: true of some chip, system or route, not of all. So they are warnings
// and never an error; what every engine refuses is the compiler's business. One function at a time, by names
// alone: no shape is inferred, the declared types are believed. No state; linear in the text.
#include "ane_direct/mil_lint.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace anelane {
namespace {

constexpr uint64_t kRowElements = 32;   // fp16 of 64 bytes
constexpr uint64_t kLeastColumns = 64;  // what every report is content with
constexpr size_t kWideFanIn = 12;

bool starts_with_reduce(std::string_view op) {
  return op.starts_with("reduce_");
}

class FunctionLint {
 public:
  FunctionLint(const MilFunction& function, std::vector<MilWarning>* out) : function_(function), out_(out) {}

  void run() {
    for (const MilBinding& input : function_.inputs) {
      types_[input.name] = &input.type;
      inputs_[input.name] = true;
      port("input", input.type, input.name, input.place);
    }
    order("inputs", function_.inputs);
    for (const MilStatement& statement : function_.statements) {
      if (statement.op == "const")
        constant(statement);
      else
        operation(statement);
      for (const MilBinding& result : statement.results) {
        types_[result.name] = &result.type;
        made_by_[result.name] = statement.op;
      }
    }
    for (const MilArgument& result : function_.returns)
      if (const auto found = types_.find(result.name); found != types_.end())
        port("output", *found->second, result.name, result.place);
    order("outputs", function_.returns);
  }

 private:
  void warn(const char* rule, SourcePlace place, const std::string& message) {
    out_->push_back({rule, place, message});
  }

  void port(const std::string& side, const MilType& type, std::string_view name, SourcePlace place) {
    const std::string what = side + " \"" + std::string(name) + "\" ";
    if (type.element == "fp32")
      warn("fp32-port", place,
           what + "is fp32: refused by the engines of M1 and M2, slower on the others; use fp16");
    else if (type.element != "fp16")
      warn("integer-port", place,
           what + "is " + std::string(type.element) + ": accepted by some systems only; use fp16");
    if (type.shape.empty()) return;
    const uint64_t columns = type.shape.back();
    if (columns % kRowElements != 0)
      warn("padded-rows", place,
           what + "has " + std::to_string(columns) + (columns == 1 ? " column" : " columns") +
               ": rows are padded to 64 bytes, which the port's strides say; use a multiple of 32");
    if (columns < kLeastColumns)
      warn("narrow", place,
           what + "has " + std::to_string(columns) + (columns == 1 ? " column" : " columns") +
               ": some engines want 64 at least");
  }

  // The engine binds by the byte order of names, whatever the order in the text.
  template <class Items>
  void order(const char* what, const Items& items) {
    for (size_t i = 1; i < items.size(); ++i)
      if (items[i].name < items[i - 1].name)
        return warn("port-order", items[i].place,
                    std::string(what) + " are bound in the byte order of their names: \"" +
                        std::string(items[i].name) + "\" comes before \"" + std::string(items[i - 1].name) +
                        "\"; names like a00_x, a01_y keep the order that is written");
  }

  void constant(const MilStatement& statement) {
    for (const MilArgument& attribute : statement.attributes) {
      if (attribute.name != "val" || !attribute.literal || statement.results.size() != 1) continue;
      const MilLiteral& literal = *attribute.literal;
      literals_[statement.results[0].name] = &literal;
      const auto infinite = [](double v) { return std::isinf(v) || std::abs(v) > 65504.0; };
      if (literal.type.element == "fp16" &&
          std::any_of(literal.numbers.begin(), literal.numbers.end(), infinite))
        warn("infinite-constant", statement.place,
             "an fp16 constant is infinite: a softmax over it becomes NaN; use -10000 for a mask");
    }
  }

  const MilArgument* argument(const MilStatement& statement, std::string_view name) const {
    for (const MilArgument& given : statement.arguments)
      if (given.name == name) return &given;
    return nullptr;
  }
  std::string_view value(const MilStatement& statement, std::string_view name) const {
    const MilArgument* given = argument(statement, name);
    return given != nullptr && given->values.size() == 1 ? given->values[0] : std::string_view();
  }
  const MilLiteral* literal(const MilStatement& statement, std::string_view name) const {
    const MilArgument* given = argument(statement, name);
    if (given == nullptr) return nullptr;
    if (given->literal) return &*given->literal;
    const auto found = given->values.size() == 1 ? literals_.find(given->values[0]) : literals_.end();
    return found != literals_.end() ? found->second : nullptr;
  }
  std::string_view maker(std::string_view name) const {
    const auto found = made_by_.find(name);
    return found != made_by_.end() ? found->second : std::string_view();
  }
  size_t rank(std::string_view name) const {
    const auto found = types_.find(name);
    return found != types_.end() ? found->second->shape.size() : 0;
  }

  void operation(const MilStatement& s) {
    if (s.op == "rsqrt" && starts_with_reduce(maker(value(s, "x"))))
      warn("rsqrt-after-reduce", s.place,
           "rsqrt right behind a reduction is refused by some compilers: use pow with -0.5");
    if (s.op == "matmul") matmul(s);
    if (s.op == "conv") {
      const std::string_view weight = value(s, "weight");
      if (!weight.empty() && literals_.find(weight) == literals_.end())
        warn("conv-weight", s.place,
             "the weight of a convolution must be a constant: others are ignored in silence");
    }
    if (s.op == "slice_by_index" && inputs_.contains(value(s, "x")))
      warn("slice-of-input", s.place,
           "slice_by_index of an input is reported to fail: put an identity between them, or use "
           "slice_by_size");
    if (s.op == "slice_by_size" || s.op == "slice_by_index") slice(s);
    if (s.op == "concat")
      if (const MilArgument* values = argument(s, "values");
          values != nullptr && values->values.size() >= kWideFanIn)
        warn("wide-concat", s.place,
             "a concat of " + std::to_string(values->values.size()) +
                 " compiles very slowly: join in steps of fewer than 12");
    if (s.op == "tile")
      warn("tile", s.place,
           "tile has left an engine in a bad state: use concat, or let add and mul broadcast");
    if (s.op == "scaled_dot_product_attention")
      warn(
          "attention", s.place,
          "the mask of scaled_dot_product_attention is reported ignored: write matmul, add, softmax, matmul");
    if ((s.op == "gelu") && argument(s, "mode") == nullptr)
      warn("gelu-mode", s.place, "gelu without a mode is refused");
    if (s.op == "linear")
      warn("linear", s.place, "linear works, but a 1×1 conv over [1, C, 1, S] is the proven and faster form");
  }

  void matmul(const MilStatement& s) {
    const std::string_view x = value(s, "x"), y = value(s, "y");
    if (!x.empty() && x == y)
      warn("same-operands", s.place,
           "one tensor as both operands of matmul is reported to fail: put an identity before one of them");
    if (rank(x) == 5 || rank(y) == 5)
      warn("matmul-rank", s.place, "matmul of rank 5 is refused by some engines: reshape to rank 4");
    if (maker(x) == "reshape" || maker(y) == "reshape")
      warn("reshape-before-matmul", s.place,
           "reshape right before matmul is reported refused: a transpose between them is fine");
  }

  void slice(const MilStatement& s) {
    const MilLiteral* begin = literal(s, "begin");
    const size_t axes = rank(value(s, "x"));
    if (begin == nullptr || axes == 0 || begin->numbers.size() != axes || begin->numbers.back() == 0) return;
    warn("column-slice", s.place,
         "a slice of the last axis that does not begin at 0 is wrong beyond column 4094 on older engines: "
         "slice "
         "another axis");
  }

  const MilFunction& function_;
  std::vector<MilWarning>* out_;
  std::unordered_map<std::string_view, const MilType*> types_;
  std::unordered_map<std::string_view, std::string_view> made_by_;
  std::unordered_map<std::string_view, const MilLiteral*> literals_;
  std::unordered_map<std::string_view, bool> inputs_;
};

void lint_head(std::string_view text, const MilProgram& program, std::vector<MilWarning>* out) {
  if (text.substr(0, text.find('{', text.find(')'))).find("buildInfo") == std::string_view::npos)
    out->push_back({"build-info", {}, "without [buildInfo = …] the text is refused on most systems"});
  for (const MilFunction& function : program.functions) {
    const bool old_opset = function.opset == "ios15" || function.opset == "ios16";
    if (old_opset != (program.dialect == MilDialect::kIos16))
      out->push_back({"opset", function.place,
                      "func<" + std::string(function.opset) + "> in program(" +
                          (program.dialect == MilDialect::kIos16 ? "1.0" : "1.3") +
                          "): 1.3 goes with ios18, 1.0 with ios16 (systems before macOS 15)"});
  }
  if (program.functions.size() > 1)
    out->push_back({"functions", program.functions[1].place,
                    "only \"main\" is run, or the first function when none has that name"});
}

}  // namespace

std::vector<MilWarning> lint_mil(std::string_view text, const MilProgram& program) {
  std::vector<MilWarning> warnings;
  lint_head(text, program, &warnings);
  for (const MilFunction& function : program.functions) FunctionLint(function, &warnings).run();
  std::stable_sort(warnings.begin(), warnings.end(), [](const MilWarning& a, const MilWarning& b) {
    return a.place.line != b.place.line ? a.place.line < b.place.line : a.place.column < b.place.column;
  });
  return warnings;
}

}  // namespace anelane
