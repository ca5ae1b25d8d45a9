// The rows stand in the order of Fn; a static_assert holds them to it. BOOL is "B" and unsigned int "I" on
// every Mac that has the engine. Encodings are compared without their offsets.
#include "ane_direct/apple/api_table.h"

#include <array>

namespace anelane::apple {
namespace {

constexpr const char* kDescriptor = "_ANEInMemoryModelDescriptor";
constexpr const char* kModel = "_ANEInMemoryModel";
constexpr const char* kClient = "_ANEClient";
constexpr const char* kFileModel = "_ANEModel";

constexpr std::array<ApiRow, kFnCount> kRows{{
    {Fn::kMakeDescriptor, Need::kInMemory, true, kDescriptor,
     "modelWithMILText:weights:optionsPlist:", "@@:@@@"},
    {Fn::kMakeModel, Need::kInMemory, true, kModel, "inMemoryModelWithDescriptor:", "@@:@"},
    {Fn::kHexIdentifier, Need::kInMemory, false, kModel, "hexStringIdentifier", "@@:"},
    {Fn::kLocalModelPath, Need::kInMemory, false, kModel, "localModelPath", "@@:"},
    {Fn::kCompiledModelExists, Need::kInMemory, false, kModel, "compiledModelExists", "B@:"},
    {Fn::kCompile, Need::kInMemory, false, kModel, "compileWithQoS:options:error:", "B@:I@^@"},
    {Fn::kLoad, Need::kInMemory, false, kModel, "loadWithQoS:options:error:", "B@:I@^@"},
    {Fn::kEvaluate, Need::kInMemory, false, kModel, "evaluateWithQoS:options:request:error:", "B@:I@@^@"},
    {Fn::kUnload, Need::kInMemory, false, kModel, "unloadWithQoS:error:", "B@:I^@"},
    {Fn::kPurge, Need::kInMemory, false, kModel, "purgeCompiledModel", "v@:"},
    {Fn::kModelAttributes, Need::kInMemory, false, kModel, "modelAttributes", "@@:"},
    {Fn::kSetDescriptor, Need::kInMemory, false, kModel, "setDescriptor:", "v@:@"},
    {Fn::kSharedConnection, Need::kClient, true, kClient, "sharedConnection", "@@:"},
    {Fn::kClientExists, Need::kClient, false, kClient, "compiledModelExistsFor:", "B@:@"},
    {Fn::kClientCompile, Need::kClient, false, kClient, "compileModel:options:qos:error:", "B@:@@I^@"},
    {Fn::kClientLoad, Need::kClient, false, kClient, "loadModel:options:qos:error:", "B@:@@I^@"},
    {Fn::kClientEvaluate, Need::kClient, false, kClient,
     "evaluateWithModel:options:request:qos:error:", "B@:@@@I^@"},
    {Fn::kClientUnload, Need::kClient, false, kClient, "unloadModel:options:qos:error:", "B@:@@I^@"},
    {Fn::kClientPurge, Need::kClient, false, kClient, "purgeCompiledModel:", "v@:@"},
    {Fn::kMakeFileModel, Need::kClient, true, kFileModel, "modelAtURL:key:", "@@:@@"},
    {Fn::kFileModelAttributes, Need::kClient, false, kFileModel, "modelAttributes", "@@:"},
    {Fn::kWrapSurface, Need::kBoth, true, "_ANEIOSurfaceObject",
     "objectWithIOSurface:", "@@:^{__IOSurface=}"},
    {Fn::kMakeRequest, Need::kBoth, true, "_ANERequest",
     "requestWithInputs:inputIndices:outputs:outputIndices:weightsBuffer:perfStats:procedureIndex:",
     "@@:@@@@@@@"},
}};

constexpr bool in_order() {
  for (size_t i = 0; i < kRows.size(); ++i)
    if (static_cast<size_t>(kRows[i].fn) != i) return false;
  return true;
}
static_assert(in_order());

}  // namespace

const ApiRow& api_row(Fn fn) {
  return kRows[static_cast<size_t>(fn)];
}

}  // namespace anelane::apple
