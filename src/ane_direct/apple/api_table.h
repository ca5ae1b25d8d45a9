// Every private method that we call, with the type encoding that it must have. A method is called through
// its row only, so none can be called that was not checked.
#pragma once
#include <cstddef>
#include <cstdint>

namespace anelane::apple {

enum class Fn : uint8_t {
  kMakeDescriptor,
  kMakeModel,
  kHexIdentifier,
  kLocalModelPath,
  kCompiledModelExists,
  kCompile,
  kLoad,
  kEvaluate,
  kUnload,
  kPurge,
  kModelAttributes,
  kSetDescriptor,
  kSharedConnection,
  kClientExists,
  kClientCompile,
  kClientLoad,
  kClientEvaluate,
  kClientUnload,
  kClientPurge,
  kMakeFileModel,
  kFileModelAttributes,
  kWrapSurface,
  kMakeRequest,
};
inline constexpr size_t kFnCount = static_cast<size_t>(Fn::kMakeRequest) + 1;

enum class Need : uint8_t { kBoth, kInMemory, kClient };  // which route calls it

struct ApiRow {
  Fn fn;
  Need need;
  bool class_method;
  const char* class_name;
  const char* selector;
  const char* types;  // without digits
};

const ApiRow& api_row(Fn fn);

}  // namespace anelane::apple
