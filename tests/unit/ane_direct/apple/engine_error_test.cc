// Every row of the error table in both generations of the system, and that an error keeps its own words.
#include "ane_direct/apple/engine_error.h"

#include <gtest/gtest.h>

namespace anelane::apple {
namespace {

const std::string kAne = "com.apple.appleneuralengine";
const std::string kCompiler = "com.apple.appleneuralengine.compiler";

Code code_of(Stage stage, const std::string& domain, int64_t code, const std::string& text) {
  return classify(stage, {domain, code, text}).code();
}

TEST(EngineErrorTable, S091_NoResourcesIsSaidByALoadOnly) {
  const std::string words = "loadModel: no ANE resources, transient (underlying=0x5)";
  EXPECT_EQ(code_of(Stage::kLoad, kAne, 54, words), Code::kResourcesExhausted);
  EXPECT_EQ(code_of(Stage::kLoad, "another.domain", 1, "no ANE resources"), Code::kResourcesExhausted);
  EXPECT_EQ(code_of(Stage::kCompile, kAne, 54, words), Code::kCompileFailed);
  EXPECT_EQ(code_of(Stage::kRun, kAne, 54, words), Code::kInternal);
  EXPECT_EQ(code_of(Stage::kLoad, "another.domain", 1, "something else"), Code::kIo);
}

TEST(EngineErrorTable, L4_15_TheMachineIsFullInTheWordsOfEitherGeneration) {
  for (const auto& [code, text] : {std::pair<int64_t, const char*>{54, "no words"},
                                   {54, "load: (underlying=0x5)"},
                                   {99, "load: refused (underlying=0x5)"},
                                   {6, "Program load failure (0x5)"},
                                   {4, "Program creation failure (0x5)"},
                                   {6, "GetANEFModel: must re-compile"}}) {
    const Status status = classify(Stage::kLoad, {kAne, code, text});
    EXPECT_EQ(status.code(), Code::kResourcesExhausted) << text;
    EXPECT_TRUE(status.detail().transient);
    EXPECT_NE(status.message().find(text), std::string::npos) << status.message();
    EXPECT_NE(status.message().find("[" + kAne + " " + std::to_string(code) + "]"), std::string::npos);
  }
  EXPECT_EQ(code_of(Stage::kLoad, kAne, 6, "Program load failure (0x50004)"), Code::kCompileFailed)
      << "0x50004 is no 0x5: the weights are too many, for ever";
  EXPECT_EQ(code_of(Stage::kLoad, kAne, 6, "load (underlying=0x50)"), Code::kIo) << "0x50 is no 0x5 either";
}

TEST(EngineErrorTable, L4_16_TheCompilersVerdictIsDeterministic) {
  for (const char* verdict : {"InvalidMILProgram", "CompilationFailure", "InvalidCompilationParam"}) {
    const Status status =
        classify(Stage::kCompile,
                 {kCompiler, 1, "_ANECompiler : ANECCompile() FAILED; err=(" + std::string(verdict) + ")"});
    EXPECT_EQ(status.code(), Code::kCompileFailed);
    EXPECT_FALSE(status.detail().transient);
    EXPECT_NE(status.message().find(verdict), std::string::npos);
  }
  EXPECT_EQ(code_of(Stage::kCompile, "com.apple.appleneuralengine.espresso", -1, "x"), Code::kCompileFailed);
  EXPECT_EQ(code_of(Stage::kCompile, "who.knows", 1, "x"), Code::kCompileFailed);
}

TEST(EngineErrorTable, EveryNumberOfTheDomainHasAMeaning) {
  const std::pair<int64_t, Code> expected[] = {{1, Code::kEngineUnavailable},
                                               {2, Code::kEngineUnavailable},
                                               {3, Code::kEngineCrashed},
                                               {4, Code::kIo},
                                               {5, Code::kInternal},
                                               {6, Code::kIo},
                                               {7, Code::kEngineUnavailable},
                                               {8, Code::kEngineCrashed},
                                               {9, Code::kIo},
                                               {10, Code::kIo},
                                               {11, Code::kInternal},
                                               {12, Code::kInternal},
                                               {13, Code::kInternal},
                                               {14, Code::kInternal},
                                               {15, Code::kInternal},
                                               {16, Code::kIo},
                                               {17, Code::kInternal},
                                               {18, Code::kInternal},
                                               {19, Code::kInternal},
                                               {20, Code::kInternal},
                                               {21, Code::kInternal},
                                               {22, Code::kEngineUnavailable},
                                               {23, Code::kEngineCrashed},
                                               {24, Code::kIo},
                                               {25, Code::kEngineUnavailable},
                                               {26, Code::kInternal},
                                               {27, Code::kEngineUnavailable},
                                               {28, Code::kEngineUnavailable},
                                               {29, Code::kEngineUnavailable},
                                               {42, Code::kInternal},
                                               {54, Code::kResourcesExhausted}};
  for (const auto& [number, code] : expected) {
    const Status status = classify(Stage::kLoad, {kAne, number, "words of the framework"});
    EXPECT_EQ(status.code(), code) << number;
    EXPECT_NE(status.message().find("words of the framework"), std::string::npos) << number;
  }
}

TEST(EngineErrorTable, InferenceStatesAndKernelValues) {
  const std::string text = "ANEProgramProcessRequestDirect() Failed with status=0x1d : statusType=0x9";
  EXPECT_EQ(code_of(Stage::kRun, kAne, 8, text), Code::kInternal);
  EXPECT_NE(classify(Stage::kRun, {kAne, 8, text}).message().find("please report"), std::string::npos);
  EXPECT_EQ(code_of(Stage::kRun, kAne, 8, "status=0x12 : statusType=0x9"), Code::kInternal);
  EXPECT_EQ(code_of(Stage::kRun, kAne, 8, "status=0xe : statusType=0x9"), Code::kEngineCrashed);
  EXPECT_EQ(code_of(Stage::kLoad, kAne, 6, "0xe00002e2"), Code::kEngineUnavailable);
  EXPECT_EQ(code_of(Stage::kLoad, kAne, 6, "0xe00002c7"), Code::kEngineUnavailable);
  EXPECT_EQ(code_of(Stage::kRun, kAne, 6, "0xe00002c2"), Code::kInternal);
}

TEST(EngineErrorTable, WordsOf27WithoutNumbersOfTheirOwn) {
  EXPECT_EQ(code_of(Stage::kLoad, kAne, 60, "load: no memory (transient)"), Code::kOutOfMemory);
  EXPECT_EQ(code_of(Stage::kLoad, kAne, 60, "load: bad program image"), Code::kIo);
  EXPECT_EQ(code_of(Stage::kLoad, kAne, 60, "operation not permitted (check entitlements)"),
            Code::kEngineUnavailable);
  EXPECT_EQ(code_of(Stage::kRun, kAne, 60, "ANE hardware/firmware failure"), Code::kEngineCrashed);
  EXPECT_EQ(code_of(Stage::kRun, kAne, 60, "inference pre-empted by higher priority request"),
            Code::kEngineCrashed);
}

TEST(EngineErrorTable, ABrokenConnectionToTheServiceIsTransient) {
  for (const int64_t number : {4097, 4099, 4101}) {
    const Status status = classify(Stage::kCompile, {"NSCocoaErrorDomain", number, "connection interrupted"});
    EXPECT_EQ(status.code(), Code::kEngineCrashed);
    EXPECT_TRUE(status.detail().transient);
  }
}

TEST(EngineErrorTable, NoErrorAtAllIsAnErrorToo) {
  for (const Stage stage : {Stage::kCompile, Stage::kLoad, Stage::kRun, Stage::kUnload}) {
    const Status status = classify(stage, {});
    EXPECT_FALSE(status.ok());
    EXPECT_NE(status.message().find("without a reason"), std::string::npos);
  }
}

TEST(EngineErrorTable, OnlyCodeTenIsAStagingRefusal) {
  EXPECT_TRUE(is_staging_refusal({kAne, 10, "invalid model"}));
  EXPECT_FALSE(is_staging_refusal({kAne, 9, "invalid model"}));
  EXPECT_FALSE(is_staging_refusal({kCompiler, 10, "invalid model"}));
}

}  // namespace
}  // namespace anelane::apple
