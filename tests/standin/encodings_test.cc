// §1 of what the stand-in imitates: the classes, their selectors and exact encodings, and how they may be
// missing.
#include "child.h"
#include "fixture.h"

namespace standin {
namespace {

struct Row {
  const char* type;
  bool on_class;
  const char* selector;
  const char* types;
};

constexpr Row kRows[] = {
    {"_ANEInMemoryModelDescriptor", true, "modelWithMILText:weights:optionsPlist:", "@40@0:8@16@24@32"},
    {"_ANEInMemoryModelDescriptor", true,
     "modelWithNetworkDescription:weights:optionsPlist:", "@40@0:8@16@24@32"},
    {"_ANEInMemoryModelDescriptor", false,
     "initWithNetworkText:weights:optionsPlist:isMILModel:", "@44@0:8@16@24@32B40"},
    {"_ANEInMemoryModelDescriptor", true, "new", "@16@0:8"},
    {"_ANEInMemoryModelDescriptor", false, "init", "@16@0:8"},
    {"_ANEInMemoryModelDescriptor", false, "hexStringIdentifier", "@16@0:8"},
    {"_ANEInMemoryModelDescriptor", false, "networkText", "@16@0:8"},
    {"_ANEInMemoryModelDescriptor", false, "weights", "@16@0:8"},
    {"_ANEInMemoryModelDescriptor", false, "optionsPlist", "@16@0:8"},
    {"_ANEInMemoryModelDescriptor", false, "networkTextHash", "@16@0:8"},
    {"_ANEInMemoryModelDescriptor", false, "weightsHash", "@16@0:8"},
    {"_ANEInMemoryModelDescriptor", false, "optionsPlistHash", "@16@0:8"},
    {"_ANEInMemoryModelDescriptor", false, "perFileHashes", "@16@0:8"},
    {"_ANEInMemoryModelDescriptor", false, "isMILModel", "B16@0:8"},
    {"_ANEInMemoryModelDescriptor", false, "hash", "Q16@0:8"},
    {"_ANEInMemoryModelDescriptor", false, "isEqual:", "B24@0:8@16"},
    {"_ANEInMemoryModel", true, "inMemoryModelWithDescriptor:", "@24@0:8@16"},
    {"_ANEInMemoryModel", false, "initWithDesctiptor:", "@24@0:8@16"},
    {"_ANEInMemoryModel", true, "new", "@16@0:8"},
    {"_ANEInMemoryModel", false, "init", "@16@0:8"},
    {"_ANEInMemoryModel", false, "hexStringIdentifier", "@16@0:8"},
    {"_ANEInMemoryModel", false, "localModelPath", "@16@0:8"},
    {"_ANEInMemoryModel", false, "saveModelFiles", "@16@0:8"},
    {"_ANEInMemoryModel", false, "compiledModelExists", "B16@0:8"},
    {"_ANEInMemoryModel", false, "compileWithQoS:options:error:", "B36@0:8I16@20^@28"},
    {"_ANEInMemoryModel", false, "loadWithQoS:options:error:", "B36@0:8I16@20^@28"},
    {"_ANEInMemoryModel", false, "evaluateWithQoS:options:request:error:", "B44@0:8I16@20@28^@36"},
    {"_ANEInMemoryModel", false, "unloadWithQoS:error:", "B28@0:8I16^@20"},
    {"_ANEInMemoryModel", false, "purgeCompiledModel", "v16@0:8"},
    {"_ANEInMemoryModel", false, "mapIOSurfacesWithRequest:cacheInference:error:", "B36@0:8@16B24^@28"},
    {"_ANEInMemoryModel", false, "unmapIOSurfacesWithRequest:", "v24@0:8@16"},
    {"_ANEInMemoryModel", false, "compilerOptionsWithOptions:isCompiledModelCached:", "@28@0:8@16B24"},
    {"_ANEInMemoryModel", false, "program", "@16@0:8"},
    {"_ANEInMemoryModel", false, "model", "@16@0:8"},
    {"_ANEInMemoryModel", false, "modelAttributes", "@16@0:8"},
    {"_ANEInMemoryModel", false, "modelURL", "@16@0:8"},
    {"_ANEInMemoryModel", false, "descriptor", "@16@0:8"},
    {"_ANEInMemoryModel", false, "sharedConnection", "@16@0:8"},
    {"_ANEInMemoryModel", false, "compilerOptionsFileName", "@16@0:8"},
    {"_ANEInMemoryModel", false, "perFileHashes", "@16@0:8"},
    {"_ANEInMemoryModel", false, "programHandle", "Q16@0:8"},
    {"_ANEInMemoryModel", false, "intermediateBufferHandle", "Q16@0:8"},
    {"_ANEInMemoryModel", false, "state", "Q16@0:8"},
    {"_ANEInMemoryModel", false, "string_id", "Q16@0:8"},
    {"_ANEInMemoryModel", false, "queueDepth", "c16@0:8"},
    {"_ANEInMemoryModel", false, "setQueueDepth:", "v20@0:8c16"},
    {"_ANEInMemoryModel", false, "perfStatsMask", "I16@0:8"},
    {"_ANEInMemoryModel", false, "setPerfStatsMask:", "v20@0:8I16"},
    {"_ANEInMemoryModel", false, "setModelURL:", "v24@0:8@16"},
    {"_ANEInMemoryModel", false, "setDescriptor:", "v24@0:8@16"},
    {"_ANEInMemoryModel", false, "setModel:", "v24@0:8@16"},
    {"_ANEInMemoryModel", false, "setProgram:", "v24@0:8@16"},
    {"_ANEInMemoryModel", false, "setModelAttributes:", "v24@0:8@16"},
    {"_ANEInMemoryModel", false, "setCompilerOptionsFileName:", "v24@0:8@16"},
    {"_ANEInMemoryModel", false, "setPerFileHashes:", "v24@0:8@16"},
    {"_ANEInMemoryModel", false, "isMILModel", "B16@0:8"},
    {"_ANEClient", true, "sharedConnection", "@16@0:8"},
    {"_ANEClient", true, "sharedPrivateConnection", "@16@0:8"},
    {"_ANEClient", false, "initWithRestrictedAccessAllowed:", "@20@0:8B16"},
    {"_ANEClient", false, "compileModel:options:qos:error:", "B44@0:8@16@24I32^@36"},
    {"_ANEClient", false, "loadModel:options:qos:error:", "B44@0:8@16@24I32^@36"},
    {"_ANEClient", false, "unloadModel:options:qos:error:", "B44@0:8@16@24I32^@36"},
    {"_ANEClient", false, "doLoadModel:options:qos:error:", "B44@0:8@16@24I32^@36"},
    {"_ANEClient", false, "doUnloadModel:options:qos:error:", "B44@0:8@16@24I32^@36"},
    {"_ANEClient", false, "loadRealTimeModel:options:qos:error:", "B44@0:8@16@24I32^@36"},
    {"_ANEClient", false, "unloadRealTimeModel:options:qos:error:", "B44@0:8@16@24I32^@36"},
    {"_ANEClient", false, "evaluateWithModel:options:request:qos:error:", "B52@0:8@16@24@32I40^@44"},
    {"_ANEClient", false, "doEvaluateDirectWithModel:options:request:qos:error:", "B52@0:8@16@24@32I40^@44"},
    {"_ANEClient", false, "evaluateRealTimeWithModel:options:request:error:", "B48@0:8@16@24@32^@40"},
    {"_ANEClient", false, "beginRealTimeTask", "B16@0:8"},
    {"_ANEClient", false, "endRealTimeTask", "B16@0:8"},
    {"_ANEClient", false, "mapIOSurfacesWithModel:request:cacheInference:error:", "B44@0:8@16@24B32^@36"},
    {"_ANEClient", false, "unmapIOSurfacesWithModel:request:", "v32@0:8@16@24"},
    {"_ANEClient", false,
     "prepareChainingWithModel:options:chainingReq:qos:error:", "B52@0:8@16@24@32I40^@44"},
    {"_ANEClient", false, "enqueueSetsWithModel:outputSet:options:qos:error:", "B52@0:8@16@24@32I40^@44"},
    {"_ANEClient", false, "buffersReadyWithModel:inputBuffers:options:qos:error:", "B52@0:8@16@24@32I40^@44"},
    {"_ANEClient", false, "sessionHintWithModel:hint:options:report:error:", "B56@0:8@16@24@32@40^@48"},
    {"_ANEClient", false, "compiledModelExistsFor:", "B24@0:8@16"},
    {"_ANEClient", false, "compiledModelExistsMatchingHash:", "B24@0:8@16"},
    {"_ANEClient", false, "purgeCompiledModel:", "v24@0:8@16"},
    {"_ANEClient", false, "purgeCompiledModelMatchingHash:", "v24@0:8@16"},
    {"_ANEClient", false,
     "mapMutableWeightsForModel:andProcedure:mappedWeightsBuffer:size:error:", "B56@0:8@16@24^^v32^Q40^@48"},
    {"_ANEClient", false,
     "syncMutableWeightsForModel:andProcedure:fromOffset:withSize:error:", "B56@0:8@16@24Q32Q40^@48"},
    {"_ANEClient", false, "unmapMutableWeightsForModel:andProcedure:", "B32@0:8@16@24"},
    {"_ANEClient", false, "updatePurgeabilityLevelForModelTrackedByHash:to:", "v32@0:8@16Q24"},
    {"_ANEModel", true, "modelAtURL:key:", "@32@0:8@16@24"},
    {"_ANEModel", false, "modelAttributes", "@16@0:8"},
    {"_ANEIOSurfaceObject", true, "objectWithIOSurface:", "@24@0:8^{__IOSurface=}16"},
    {"_ANEIOSurfaceObject", true, "objectWithIOSurface:startOffset:", "@32@0:8^{__IOSurface=}16@24"},
    {"_ANEIOSurfaceObject", true, "objectWithIOSurfaceNoRetain:startOffset:", "@32@0:8^{__IOSurface=}16@24"},
    {"_ANEIOSurfaceObject", false, "ioSurface", "^{__IOSurface=}16@0:8"},
    {"_ANEIOSurfaceObject", false, "startOffset", "@16@0:8"},
    {"_ANERequest", true,
     "requestWithInputs:inputIndices:outputs:outputIndices:weightsBuffer:perfStats:procedureIndex:",
     "@72@0:8@16@24@32@40@48@56@64"},
    {"_ANERequest", true, "requestWithInputs:inputIndices:outputs:outputIndices:perfStats:procedureIndex:",
     "@64@0:8@16@24@32@40@48@56"},
    {"_ANERequest", true,
     "requestWithInputs:inputIndices:outputs:outputIndices:procedureIndex:", "@56@0:8@16@24@32@40@48"},
    {"_ANERequest", true,
     "requestWithInputs:inputIndices:outputs:outputIndices:weightsBuffer:procedureIndex:",
     "@64@0:8@16@24@32@40@48@56"},
    {"_ANERequest", true,
     "requestWithInputs:inputIndices:outputs:outputIndices:weightsBuffer:perfStats:procedureIndex:"
     "sharedEvents:",
     "@80@0:8@16@24@32@40@48@56@64@72"},
    {"_ANERequest", true,
     "requestWithInputs:inputIndices:outputs:outputIndices:weightsBuffer:perfStats:procedureIndex:"
     "sharedEvents:"
     "transactionHandle:",
     "@88@0:8@16@24@32@40@48@56@64@72@80"},
    {"_ANERequest", false, "validate", "B16@0:8"},
    {"_ANERequest", false, "setCompletionHandler:", "v24@0:8@?16"},
    {"_ANERequest", false, "inputArray", "@16@0:8"},
    {"_ANERequest", false, "inputIndexArray", "@16@0:8"},
    {"_ANERequest", false, "outputArray", "@16@0:8"},
    {"_ANERequest", false, "outputIndexArray", "@16@0:8"},
    {"_ANERequest", false, "weightsBuffer", "@16@0:8"},
    {"_ANERequest", false, "perfStatsArray", "@16@0:8"},
    {"_ANERequest", false, "procedureIndex", "@16@0:8"},
    {"_ANERequest", false, "sharedEvents", "@16@0:8"},
};

class Encodings : public StandinTest {};

TEST_F(Encodings, S9_1_EverySelectorHasTheFrameworksTypes) {
  for (const Row& row : kRows) {
    Class type = objc_getClass(row.type);
    ASSERT_NE(type, nullptr) << row.type;
    const SEL selector = sel_registerName(row.selector);
    struct objc_method* method =
        row.on_class ? class_getClassMethod(type, selector) : class_getInstanceMethod(type, selector);
    ASSERT_NE(method, nullptr) << row.type << " " << row.selector;
    EXPECT_STREQ(method_getTypeEncoding(method), row.types) << row.type << " " << row.selector;
  }
}

TEST_F(Encodings, S9_1_NewAndInitGiveNil) {
  const Pool pool;
  for (const char* name : {"_ANEInMemoryModelDescriptor", "_ANEInMemoryModel", "_ANEModel", "_ANEClient"})
    EXPECT_EQ(msg(type(name), "new"), nullptr) << name;
  for (const char* name : {"_ANEInMemoryModelDescriptor", "_ANEInMemoryModel", "_ANEModel"})
    EXPECT_EQ(msg(msg(type(name), "alloc"), "init"), nullptr) << name;
  EXPECT_EQ(since().descriptors_alive, 0);
  EXPECT_EQ(since().in_memory_models_alive, 0);
  EXPECT_EQ(since().client_models_alive, 0);
}

TEST_F(Encodings, S9_1_TheInitialisersGiveOneReference) {
  {
    const Pool pool;
    const anelane::Program program = doubling();
    id weights =
        dictionary({{string("k"),
                     dictionary({{string("data"), data(program.weights.data(), program.weights.size())}})}});
    id descriptor = msg(msg(type("_ANEInMemoryModelDescriptor"), "alloc"),
                        "initWithNetworkText:weights:optionsPlist:isMILModel:",
                        data(program.mil.data(), program.mil.size()), weights, id{}, true);
    EXPECT_TRUE(msg<bool>(descriptor, "isMILModel"));
    EXPECT_TRUE(msg<bool>(descriptor, "isEqual:", descriptor_of(program)));
    id model = msg(msg(type("_ANEInMemoryModel"), "alloc"), "initWithDesctiptor:", descriptor);
    EXPECT_EQ(text(msg(model, "hexStringIdentifier")), text(msg(descriptor, "hexStringIdentifier")));
    EXPECT_EQ(msg<signed char>(model, "queueDepth"), 0);
    msg<void>(model, "release");
    msg<void>(descriptor, "release");
  }
  EXPECT_EQ(since().descriptors_alive, 0);
  EXPECT_EQ(since().in_memory_models_alive, 0);
}

TEST_F(Encodings, System26LacksTheSelectorsOf27) {
  const std::map<std::string, std::string> old{{"root", root()}, {"system", "26"}};
  for (const char* selector : {"perFileHashes", "setPerFileHashes:"})
    EXPECT_EQ(Child({"type", "_ANEInMemoryModel", selector}, old).line(), "none");
  EXPECT_EQ(Child({"type", "_ANEClient", "unmapMutableWeightsForModel:andProcedure:"}, old).line(), "none");
  EXPECT_EQ(Child({"type", "_ANEInMemoryModel", "isMILModel"}, old).line(), "B16@0:8");
}

TEST_F(Encodings, ClassesSelectorsAndTypesCanBeMissingOrWrong) {
  const std::map<std::string, std::string> knobs{
      {"root", root()},
      {"hide_class", "_ANEClient,_ANERequest"},
      {"hide_selector", "_ANEModel.modelAttributes,_ANEInMemoryModel.purgeCompiledModel"},
      {"encoding", "_ANEInMemoryModel.unloadWithQoS:error:=c28@0:8I16^@20;_ANEModel.modelAtURL:key:=v@:@@"}};
  EXPECT_EQ(Child({"has", "_ANEClient", "_ANERequest", "_ANEModel"}, knobs).rest(), "no\nno\nyes\n");
  EXPECT_EQ(Child({"type", "_ANEModel", "modelAttributes"}, knobs).line(), "none");
  EXPECT_EQ(Child({"type", "_ANEInMemoryModel", "purgeCompiledModel"}, knobs).line(), "none");
  EXPECT_EQ(Child({"type", "_ANEInMemoryModel", "modelAttributes"}, knobs).line(), "@16@0:8");
  EXPECT_EQ(Child({"type", "_ANEInMemoryModel", "unloadWithQoS:error:"}, knobs).line(), "c28@0:8I16^@20");
  EXPECT_EQ(Child({"type", "_ANEModel", "modelAtURL:key:"}, knobs).line(), "v@:@@");
}

}  // namespace
}  // namespace standin
