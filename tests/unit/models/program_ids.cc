// program_ids [LOCALE]: prints the content identifiers of a small model's programs, in both dialects, in a
// process that is made as unlike the next one as it can be: locale of C and of C++, heap, and, by its caller,
// environment and address layout. For program_bytes_test.cc.
#include <clocale>
#include <cstdio>
#include <locale>
#include <memory>
#include <vector>

#include "ane_direct/content_id.h"
#include "models/model.h"
#include "support/tiny_checkpoint.h"

using namespace anelane;

namespace {

// Numbers as no MIL text may have them: 1.234,5
struct OddPunctuation : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\1"; }
  std::string do_truename() const override { return "ja"; }
  std::string do_falsename() const override { return "nein"; }
};

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::unique_ptr<char[]>> litter;
  if (argc > 1) {
    if (std::setlocale(LC_ALL, argv[1]) == nullptr) return 3;
    std::locale::global(std::locale(std::locale(), new OddPunctuation));
    for (size_t i = 1; i < 200; ++i) litter.push_back(std::make_unique<char[]>(i * 37));
    for (size_t i = 0; i < litter.size(); i += 2) litter[i].reset();
  }
  const TempFolder folder;
  if (!write_tiny_checkpoint(folder.path()).ok()) return 1;
  for (const MilDialect dialect : {MilDialect::kIos18, MilDialect::kIos16}) {
    const auto model = open_model(folder.path(), {.dialect = dialect});
    if (!model.ok()) return 1;
    for (const uint32_t rung : {128u, 256u})
      for (uint32_t layer = 0; layer < 2; ++layer)
        std::printf("%s %u %u %s\n", std::string(mil_dialect_name(dialect)).c_str(),
                    static_cast<unsigned>(rung), static_cast<unsigned>(layer),
                    content_id((*model)->layer_program(rung, layer)).c_str());
  }
  return 0;
}
