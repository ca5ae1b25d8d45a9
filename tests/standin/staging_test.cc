// §2–4 of what the stand-in imitates: the identifier, what the compiler service verifies, what the wrapper
// writes.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>

#include "ane_direct/weight_blob.h"
#include "fixture.h"

namespace standin {
namespace {

namespace fs = std::filesystem;

constexpr const char* kAne = "com.apple.appleneuralengine";
constexpr const char* kCompiler = "com.apple.appleneuralengine.compiler";

class Staging : public StandinTest {
 protected:
  void TearDown() override {
    ::unsetenv("TMPDIR");
    StandinTest::TearDown();
  }
  void expect_code_10(InMemory* model, const char* why) {
    EXPECT_FALSE(model->compile()) << why;
    EXPECT_EQ(model->error.domain, kAne) << why;
    EXPECT_EQ(model->error.code, 10) << why;
    EXPECT_NE(model->error.text.find("verifyBundleAtPath: invalid model"), std::string::npos)
        << model->error.all();
    EXPECT_FALSE(model->is_cached()) << why;
  }
};

// Two values behind one another, A and B of the worked example.
anelane::Program worked_example() {
  anelane::WeightBlobWriter blob;
  const std::vector<anelane::Half> a{0x3c00, 0x4000, 0xbc00, 0x3800, 0, 0, 0, 0xc000},
      b{0x3400, 0xb400, 0x4200, 0x4400};
  blob.add(a);
  blob.add(b);
  return {"x", blob.finish(), ""};
}

TEST_F(Staging, S9_2_TheIdentifierIsThreeHashes) {
  const Pool pool;
  id plain = msg(type("_ANEInMemoryModelDescriptor"), "modelWithMILText:weights:optionsPlist:", data("", 0),
                 dictionary({}), id{});
  EXPECT_EQ(text(msg(plain, "weightsHash")),
            "DF3F619804A92FDB4057192DC43DD748EA778ADC52BC498CE80524C014B81119");
  EXPECT_EQ(text(msg(plain, "optionsPlistHash")),
            "E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855");
  EXPECT_EQ(text(msg(plain, "networkTextHash")), text(msg(plain, "optionsPlistHash")));
  id worked = descriptor_of(worked_example());
  EXPECT_EQ(text(msg(worked, "weightsHash")),
            "62AC16D365E2B258CA805F6F4F9899FCADE86DD3B4D2406E168823D511573E14");
  EXPECT_EQ(text(msg(worked, "hexStringIdentifier")).size(), 194u);
  // Entries in the order of their keys, not of the dictionary.
  const auto of = [](const char* key, const char* bytes) {
    return std::pair<id, id>{string(key), dictionary({{string("data"), data(bytes, 1)}})};
  };
  id two = msg(type("_ANEInMemoryModelDescriptor"), "modelWithMILText:weights:optionsPlist:", data("", 0),
               dictionary({of("b", "2"), of("a", "1")}), id{});
  id joined = msg(type("_ANEInMemoryModelDescriptor"), "modelWithMILText:weights:optionsPlist:", data("", 0),
                  dictionary({{string("z"), dictionary({{string("data"), data("12", 2)}})}}), id{});
  EXPECT_EQ(text(msg(two, "weightsHash")), text(msg(joined, "weightsHash")));
}

TEST_F(Staging, S9_2_FactoriesRefuseWhatTheOriginalRefuses) {
  const Pool pool;
  const auto make = [](id mil, id weights) {
    return msg(type("_ANEInMemoryModelDescriptor"), "modelWithMILText:weights:optionsPlist:", mil, weights,
               id{});
  };
  EXPECT_EQ(make(nullptr, dictionary({})), nullptr);
  EXPECT_EQ(make(data("", 0), nullptr), nullptr);
  EXPECT_EQ(make(string("text"), dictionary({})), nullptr) << "the text is NSData";
  EXPECT_EQ(make(data("", 0), dictionary({{string("w"), dictionary({})}})), nullptr);
  EXPECT_EQ(msg(type("_ANEInMemoryModel"), "inMemoryModelWithDescriptor:", id{}), nullptr);
}

TEST_F(Staging, S9_2_AnEntryWithoutBytesRaises) {
  const Pool pool;
  id weights = dictionary({{string("w"), dictionary({{string("offset"), number(0)}})}});
  EXPECT_ANY_THROW((void)msg(type("_ANEInMemoryModelDescriptor"),
                             "modelWithMILText:weights:optionsPlist:", data("", 0), weights, id{}));
}

TEST_F(Staging, S9_3_System27VerifiesEveryFile) {
  const std::pair<const char*, std::function<void(const std::string&)>> damages[] = {
      {"nothing staged", [](const std::string& dir) { fs::remove_all(dir); }},
      {"model.mil missing", [](const std::string& dir) { fs::remove(dir + "/model.mil"); }},
      {"weight.bin missing", [](const std::string& dir) { fs::remove(dir + "/weights/weight.bin"); }},
      {"model.mil differs", [](const std::string& dir) { write_file(dir + "/model.mil", doubling(2).mil); }},
      {"weight.bin differs",
       [](const std::string& dir) {
         std::string bytes = read_file(dir + "/weights/weight.bin");
         bytes.back() = static_cast<char>(bytes.back() ^ 1);
         write_file(dir + "/weights/weight.bin", bytes);
       }},
      {"model.mil is a symlink",
       [](const std::string& dir) {
         fs::rename(dir + "/model.mil", dir + "/other");
         fs::create_symlink(dir + "/other", dir + "/model.mil");
       }},
      {"weights is a symlink",
       [](const std::string& dir) {
         fs::rename(dir + "/weights", dir + "/other");
         fs::create_directory_symlink(dir + "/other", dir + "/weights");
       }},
      {"weight.bin is a symlink",
       [](const std::string& dir) {
         fs::rename(dir + "/weights/weight.bin", dir + "/other");
         fs::create_symlink(dir + "/other", dir + "/weights/weight.bin");
       }},
      {"the folder is a symlink",
       [](const std::string& dir) {
         fs::rename(dir, dir + ".real");
         fs::create_directory_symlink(dir + ".real", dir);
       }},
  };
  for (const auto& [why, damage] : damages) {
    InMemory model(doubling());
    model.stage();
    damage(model.folder());
    expect_code_10(&model, why);
    fs::remove_all(model.folder());
    fs::remove_all(model.folder() + ".real");
  }
  InMemory whole(doubling());
  whole.stage();
  EXPECT_TRUE(whole.compile()) << whole.error.all();
}

TEST_F(Staging, S9_3_System27WantsTheUsersOwnTempFolder) {
  ::setenv("TMPDIR", (root() + "/elsewhere").c_str(), 1);
  InMemory away(doubling());
  EXPECT_EQ(away.folder(), root() + "/elsewhere/" + away.hex());
  away.stage();
  expect_code_10(&away, "TMPDIR elsewhere");
  ::setenv("TMPDIR", (temp() + "/").c_str(), 1);
  InMemory home(doubling());
  home.stage();
  EXPECT_TRUE(home.compile()) << "TMPDIR with the usual value: " << home.error.all();
}

TEST_F(Staging, S9_3_System27RefusesASetModelURL) {
  InMemory first(doubling());
  first.stage();
  ASSERT_TRUE(first.compile()) << first.error.all();
  const auto shortcut = [&](InMemory* model) {
    const Pool pool;
    msg<void>(model->model(),
              "setModelURL:", msg(type("NSURL"), "fileURLWithPath:", string(model->folder())));
    model->stage();
  };
  InMemory second(doubling());
  shortcut(&second);
  EXPECT_FALSE(second.compile());
  EXPECT_EQ(second.error.code, 10);
  EXPECT_FALSE(second.load());
  EXPECT_EQ(second.error.code, 10);
  set("system", "26");
  fs::remove_all(first.folder());
  InMemory third(doubling());
  shortcut(&third);
  EXPECT_TRUE(third.compile()) << third.error.all();
  EXPECT_TRUE(third.load()) << third.error.all();
  EXPECT_FALSE(exists(third.folder() + "/net.plist")) << "the URL was there: nothing is written";
  EXPECT_TRUE(third.unload());
}

// y = x + a + b, with a and b in files of their own.
struct TwoFiles {
  std::string mil, a, b;
};
TwoFiles two_files() {
  const auto constant = [](anelane::Half value) {
    anelane::WeightBlobWriter blob;
    const std::vector<anelane::Half> values(32, value);
    blob.add(values);
    const std::vector<uint8_t> bytes = blob.finish();
    return std::string(bytes.begin(), bytes.end());
  };
  const auto one = [](const std::string& name, const std::string& file) {
    return "        tensor<fp16, [1, 32, 1, 1]> " + name + " = const()[name = string(\"" + name +
           "\"), val = tensor<fp16, [1, 32, 1, 1]>(BLOBFILE(path = string(\"@model_path/weights/" + file +
           "\"), offset = uint64(64)))];\n";
  };
  return {
      "program(1.3)\n[buildInfo = dict<string, string>({{\"coremlc-version\", \"3505.4.1\"}})]\n{\n"
      "    func main<ios18>(tensor<fp16, [1, 32, 1, 32]> x) {\n" +
          one("a", "a.bin") + one("b", "b.bin") +
          "        tensor<fp16, [1, 32, 1, 32]> t = add(x = x, y = a)[name = string(\"t\")];\n"
          "        tensor<fp16, [1, 32, 1, 32]> y = add(x = t, y = b)[name = string(\"y\")];\n    } -> "
          "(y);\n}\n",
      constant(0x3c00), constant(0x4000)};
}

TEST_F(Staging, S9_3_SeveralWeightFilesAreFor26Only) {
  const TwoFiles files = two_files();
  for (const char* system : {"27", "26"}) {
    set("system", system);
    id model = nullptr, problem = nullptr;
    bool compiled = false, loaded = false;
    {
      const Pool pool;
      const auto entry = [](const std::string& key, const std::string& bytes) {
        return std::pair<id, id>{string("@model_path/weights/" + key),
                                 dictionary({{string("data"), data(bytes.data(), bytes.size())}})};
      };
      id descriptor = msg(type("_ANEInMemoryModelDescriptor"),
                          "modelWithMILText:weights:optionsPlist:", data(files.mil.data(), files.mil.size()),
                          dictionary({entry("a.bin", files.a), entry("b.bin", files.b)}), id{});
      model = msg(msg(type("_ANEInMemoryModel"), "inMemoryModelWithDescriptor:", descriptor), "retain");
      const std::string folder = text(msg(model, "localModelPath"));
      write_file(folder + "/model.mil", files.mil);
      write_file(folder + "/weights/a.bin", files.a);
      write_file(folder + "/weights/b.bin", files.b);
      compiled = msg<bool>(model, "compileWithQoS:options:error:", 21u, dictionary({}), &problem);
      EXPECT_EQ(error_of(problem).code, std::string(system) == "27" ? 10 : 0);
      if (compiled) loaded = msg<bool>(model, "loadWithQoS:options:error:", 21u, dictionary({}), &problem);
    }
    EXPECT_EQ(compiled, std::string(system) == "26");
    if (loaded) {
      const Pool pool;
      const Surface in(49152), out(49152);
      id request = request_of({in.object()}, {0}, {out.object()}, {0});
      EXPECT_TRUE(
          msg<bool>(model, "evaluateWithQoS:options:request:error:", 21u, dictionary({}), request, &problem));
      EXPECT_EQ(out.row(0, 64)[0], anelane::float_to_half(3)) << "1 from one file and 2 from the other";
      msg<void>(request, "release");
      EXPECT_TRUE(msg<bool>(model, "unloadWithQoS:error:", 21u, &problem));
    }
    msg<void>(model, "release");
  }
}

TEST_F(Staging, S9_9_System26CompilesWhatItFinds) {
  set("system", "26");
  ::setenv("TMPDIR", (root() + "/elsewhere").c_str(), 1);
  InMemory model(doubling(1));
  model.stage();
  write_file(model.folder() + "/model.mil", doubling(5).mil);  // other than the dictionary's
  fs::rename(model.folder() + "/weights/weight.bin", model.folder() + "/other");
  fs::create_symlink(model.folder() + "/other", model.folder() + "/weights/weight.bin");
  EXPECT_TRUE(model.compile()) << model.error.all();

  InMemory no_text(doubling(2));
  EXPECT_FALSE(no_text.compile());
  EXPECT_EQ(no_text.error.domain, kCompiler);
  EXPECT_EQ(no_text.error.code, 1);
  EXPECT_EQ(no_text.error.text, "_ANECompiler : ANECCompile() FAILED");
  EXPECT_EQ(no_text.error.under, "ANECCompile(" + no_text.folder() + ") FAILED: err=(InvalidMILProgram)");
  InMemory no_weights(doubling(3));
  no_weights.stage();
  fs::remove(no_weights.folder() + "/weights/weight.bin");
  EXPECT_FALSE(no_weights.compile());
  EXPECT_EQ(no_weights.error.under,
            "ANECCompile(" + no_weights.folder() + ") FAILED: err=(CompilationFailure)");
}

// What the compiler says of a text, on the present system.
std::string refusal(const anelane::Program& program) {
  InMemory model(program);
  model.stage();
  if (model.compile()) return "";
  EXPECT_EQ(model.error.domain, kCompiler);
  EXPECT_EQ(model.error.code, 1);
  const size_t at = model.error.under.find("err=(");
  return at == std::string::npos ? model.error.all() : model.error.under.substr(at);
}

TEST_F(Staging, S9_3_TheCompilersOwnRefusals) {
  anelane::Program broken = doubling();
  broken.mil.replace(broken.mil.find("-> (y)"), 6, "-> (nobody)");
  EXPECT_EQ(refusal(broken), "err=(InvalidMILProgram)");
  broken = doubling();
  broken.mil.pop_back();
  broken.mil.pop_back();
  EXPECT_EQ(refusal(broken), "err=(InvalidMILProgram)");
  anelane::Program bare = doubling();
  const size_t from = bare.mil.find('[');
  bare.mil.erase(from, bare.mil.find("]\n", from) + 2 - from);
  EXPECT_EQ(refusal(bare), "err=(InvalidMILProgram)") << "no buildInfo on the in-memory route";
  // Sound, and more than the engine can do: an axis beyond 16384.
  const std::string mil =
      "program(1.3)\n[buildInfo = dict<string, string>({{\"coremlc-version\", \"3505.4.1\"}})]\n{\n"
      "    func main<ios18>(tensor<fp16, [1, 1, 1, 20000]> x) {\n"
      "        tensor<fp16, [1, 1, 1, 20000]> y = relu(x = x)[name = string(\"y\")];\n    } -> (y);\n}\n";
  EXPECT_EQ(refusal({mil, {}, ""}), "err=(CompilationFailure)");
}

TEST_F(Staging, S9_9_Dialects) {
  const anelane::Program modern = doubling(), old = doubling(1, 40, anelane::MilDialect::kIos16);
  EXPECT_EQ(refusal(modern), "");
  EXPECT_EQ(refusal(old), "err=(InvalidMILProgram)");
  set("system", "26");
  EXPECT_EQ(refusal(modern), "");
  EXPECT_EQ(refusal(old), "");
  set("old_machine", "1");
  EXPECT_EQ(refusal(modern), "err=(InvalidMILProgram)");
  EXPECT_EQ(refusal(old), "");
}

TEST_F(Staging, S9_4_WhatTheWrapperWritesAndDrops) {
  const Pool pool;
  const anelane::Program program = doubling();
  InMemory model(program);
  EXPECT_NE(msg(model.model(), "descriptor"), nullptr);
  ASSERT_NE(msg(model.model(), "saveModelFiles"), nullptr);
  EXPECT_EQ(read_file(model.folder() + "/net.plist"), program.mil);
  EXPECT_EQ(read_file(model.folder() + "/data"), std::string(program.weights.begin(), program.weights.end()));
  EXPECT_FALSE(exists(model.folder() + "/model.mil")) << "the caller's business";
  EXPECT_FALSE(exists(model.folder() + "/weights"));
  EXPECT_EQ(msg(model.model(), "descriptor"), nullptr);
  EXPECT_EQ(text(msg(msg(model.model(), "modelURL"), "path")), model.folder());
}

TEST_F(Staging, S9_4_WhereNothingCanBeWrittenThereIsNoError) {
  write_file(temp(), "a file where the temp folder belongs");
  set("temp_dir", temp() + "/below");
  InMemory model(doubling());
  EXPECT_FALSE(model.compile());
  EXPECT_TRUE(model.error.none) << model.error.all();
  fs::remove(temp());
}

TEST_F(Staging, S9_4_UnloadRemovesTheFolderWhateverHappens) {
  InMemory model(doubling());
  model.stage();
  ASSERT_TRUE(model.compile()) << model.error.all();
  EXPECT_FALSE(model.unload()) << "not loaded";
  EXPECT_FALSE(model.error.none);
  EXPECT_FALSE(exists(model.folder())) << "removed whether or not that succeeded";
  // The URL is set and the descriptor gone: another compile writes nothing, and nobody staged anything.
  EXPECT_FALSE(model.compile());
  EXPECT_EQ(model.error.code, 10);
  EXPECT_FALSE(exists(model.folder()));
}

TEST_F(Staging, S9_4_DeallocDoesNotUnload) {
  {
    InMemory model(doubling());
    model.stage();
    ASSERT_TRUE(model.compile() && model.load()) << model.error.all();
  }
  EXPECT_EQ(since().in_memory_models_alive, 0);
  EXPECT_EQ(since().unloaded_by_nobody, 1);
  EXPECT_EQ(since().programs_alive, 1) << "until the process ends";
  EXPECT_EQ(standin_pool_in_use(), 1u);
}

}  // namespace
}  // namespace standin
