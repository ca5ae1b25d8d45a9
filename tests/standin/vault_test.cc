// §2 and §5 of what the stand-in imitates: whose vault, what ages, what a load finds, and the attributes it
// gives.
#include <filesystem>

#include "ane_direct/sha256.h"
#include "child.h"
#include "fixture.h"

namespace standin {
namespace {

namespace fs = std::filesystem;

class Vault : public StandinTest {
 protected:
  // Compiled, and nothing staged any more.
  void compile(const anelane::Program& program) {
    InMemory model(program);
    model.stage();
    ASSERT_TRUE(model.compile()) << model.error.all();
    fs::remove_all(model.folder());
  }
  bool cached(const anelane::Program& program) { return InMemory(program).is_cached(); }
};

TEST_F(Vault, S9_2_EntriesBelongToIdentityAndSystemBuild) {
  compile(doubling());
  InMemory model(doubling());
  EXPECT_EQ(model.vault_file(),
            root() + "/26A434/InMemoryModelCache/standin-test/" + model.hex() + "/model.hwx");
  EXPECT_TRUE(exists(model.vault_file()));
  set("signing_id", "another");
  EXPECT_FALSE(model.is_cached());
  set("signing_id", "standin-test");
  EXPECT_TRUE(model.is_cached());
  set("os_build", "26A999");
  EXPECT_FALSE(model.is_cached());
  set("os_build", "26A434");
  EXPECT_FALSE(model.is_cached()) << "the old build's vault was dropped";
}

TEST_F(Vault, S9_9_WithoutAnIdentityEveryCallSaysSeven) {
  for (const char* id : {"none", "..", "a/b"}) {
    set("signing_id", id);
    InMemory model(doubling());
    EXPECT_FALSE(model.is_cached());
    model.stage();
    EXPECT_FALSE(model.compile());
    EXPECT_EQ(model.error.code, 7) << model.error.all();
    EXPECT_FALSE(model.load());
    EXPECT_EQ(model.error.code, 7) << model.error.all();
  }
}

TEST_F(Vault, S9_2_TheIdentityIsTheFileNameOfTheExecutable) {
  EXPECT_EQ(Child({"run", "64"}, {{"root", root()}}).rest(), "compiled\ny = 1\n");
  EXPECT_TRUE(exists(root() + "/26A434/InMemoryModelCache/standin_probe"));
}

TEST_F(Vault, S9_5_ASecondProcessWritesAndCompilesNothing) {
  const std::map<std::string, std::string> knobs{{"root", root()}, {"stats", root() + "/stats"}};
  EXPECT_EQ(Child({"run", "64"}, knobs).rest(), "compiled\ny = 1\n");
  EXPECT_TRUE(fs::is_empty(temp()));
  Child second({"run", "64"}, knobs);
  EXPECT_EQ(second.rest(), "y = 1\n");
  StandinCounters counters{};
  ASSERT_TRUE(standin_read_counters((root() + "/stats." + std::to_string(second.pid())).c_str(), &counters));
  EXPECT_EQ(counters.pid, second.pid());
  EXPECT_EQ(counters.compiles, 0);
  EXPECT_EQ(counters.loads_done, 1);
  EXPECT_EQ(counters.autoreleased_without_pool, 0);
}

TEST_F(Vault, S9_2_UnusedEntriesGoAfterFourteenDays) {
  constexpr long kDay = 86400;
  compile(doubling(1));
  compile(doubling(2));
  set("now_offset_s", std::to_string(10 * kDay));
  InMemory used(doubling(2));
  ASSERT_TRUE(used.load()) << used.error.all();
  EXPECT_TRUE(used.unload());
  set("now_offset_s", std::to_string(14 * kDay - 60));
  EXPECT_TRUE(cached(doubling(1)));
  set("now_offset_s", std::to_string(14 * kDay + 60));
  EXPECT_TRUE(cached(doubling(1))) << "maintenance was less than a day ago";
  set("now_offset_s", std::to_string(15 * kDay + 60));
  EXPECT_FALSE(cached(doubling(1)));
  EXPECT_TRUE(cached(doubling(2))) << "used five days ago";
  set("now_offset_s", std::to_string(25 * kDay));
  EXPECT_FALSE(cached(doubling(2)));
}

TEST_F(Vault, StoragePressureTakesTheLeastRecentlyUsed) {
  compile(doubling(1));
  set("now_offset_s", "100");
  compile(doubling(2));
  const auto bytes = fs::file_size(InMemory(doubling(1)).vault_file());
  set("now_offset_s", "200");
  {
    InMemory used(doubling(1));
    ASSERT_TRUE(used.load() && used.unload()) << used.error.all();
  }
  set("vault_bytes_max", std::to_string(2 * bytes + 100));
  set("now_offset_s", "300");
  compile(doubling(3));
  EXPECT_TRUE(cached(doubling(1)));
  EXPECT_FALSE(cached(doubling(2)));
  EXPECT_TRUE(cached(doubling(3)));
}

TEST_F(Vault, AFullVaultLosesWhatItCompiles) {
  set("vault_full", "1");
  {
    InMemory model(doubling());
    model.stage();
    EXPECT_TRUE(model.compile()) << model.error.all();
    EXPECT_FALSE(model.is_cached());
    EXPECT_TRUE(model.load()) << "in this process, from memory: " << model.error.all();
    EXPECT_TRUE(model.unload());
  }
  EXPECT_EQ(since().compiles, 1);
  EXPECT_EQ(Child({"run", "40"}, {{"root", root()}, {"signing_id", "standin-test"}}).line(), "compiled");
}

TEST_F(Vault, S9_5_LoadingFromTheVaultNeedsNoFilesAndKeepsTheDescriptor) {
  compile(doubling());
  InMemory model(doubling());
  ASSERT_TRUE(model.load()) << model.error.all();
  EXPECT_FALSE(exists(model.folder()));
  EXPECT_NE(msg(model.model(), "descriptor"), nullptr);
  EXPECT_EQ(since().compiles, 1);
  {
    const Pool pool;
    msg<void>(model.model(), "setDescriptor:", id{});
  }
  EXPECT_EQ(since().descriptors_alive, 0);
  EXPECT_TRUE(model.unload());
  EXPECT_TRUE(model.load()) << "again, without a descriptor: " << model.error.all();
  EXPECT_TRUE(model.unload());
}

TEST_F(Vault, S9_5_ALoadOfWhatIsNotThereCompiles) {
  {
    InMemory model(doubling());
    EXPECT_FALSE(model.load()) << "nothing staged";
    EXPECT_EQ(model.error.code, 10) << model.error.all();
  }
  InMemory model(doubling());
  model.stage();
  EXPECT_TRUE(model.load()) << model.error.all();
  EXPECT_TRUE(model.is_cached());
  EXPECT_EQ(since().compiles_done, 1);
  EXPECT_TRUE(exists(model.folder() + "/net.plist")) << "the wrapper wrote what it writes";
  EXPECT_TRUE(model.unload());
}

TEST_F(Vault, S9_5_DamagedEntries) {
  compile(doubling());
  InMemory model(doubling());
  write_file(model.vault_file(), "");
  EXPECT_FALSE(model.is_cached()) << "an empty file cannot be mapped";
  write_file(model.vault_file(), "rubbish");
  EXPECT_TRUE(model.is_cached()) << "a damaged one can";
  EXPECT_FALSE(model.load());
  EXPECT_EQ(model.error.code, 6) << model.error.all();
  EXPECT_NE(model.error.text.find("bad program image (underlying=0x3)"), std::string::npos);
  set("system", "26");
  set("os_build", "26A434");
  EXPECT_FALSE(model.load());
  EXPECT_EQ(model.error.code, 4) << model.error.all();
  set("system", "27");
  {
    const Pool pool;
    msg<void>(model.model(), "purgeCompiledModel");
  }
  EXPECT_FALSE(exists(model.vault_file()));
  EXPECT_FALSE(model.is_cached());
  model.stage();
  EXPECT_TRUE(model.compile() && model.load()) << model.error.all();
  // A good entry under another name is a bad image, too.
  const std::string bytes = read_file(model.vault_file());
  EXPECT_TRUE(model.unload());
  InMemory other(doubling(2));
  write_file(other.vault_file(), bytes);
  EXPECT_FALSE(other.load());
  EXPECT_EQ(other.error.code, 6) << other.error.all();
}

TEST_F(Vault, PurgeDoesNotFreeWhatIsLoaded) {
  InMemory model(doubling());
  model.stage();
  ASSERT_TRUE(model.compile() && model.load()) << model.error.all();
  {
    const Pool pool;
    msg<void>(msg(type("_ANEClient"), "sharedConnection"),
              "purgeCompiledModelMatchingHash:", string(model.hex()));
  }
  EXPECT_FALSE(model.is_cached());
  EXPECT_EQ(standin_pool_in_use(), 1u);
  EXPECT_TRUE(model.unload());
}

TEST_F(Vault, ClientModelsAreKeyedByPathAndKeyNotByContents) {
  const std::string folder = root() + "/mine";
  stage(folder, doubling(1));
  Client model(folder, "key");
  const auto sum = [](const std::string& of) {
    return anelane::upper_hex(anelane::Sha256().update(of).finish());
  };
  EXPECT_EQ(model.vault_file(), root() + "/26A434/ModelAssetsCache/standin-test/" + sum(folder) + "_" +
                                    sum("key") + "/model.hwx");
  ASSERT_TRUE(model.compile()) << model.error.all();
  stage(folder, doubling(5));
  Client stale(folder, "key");
  EXPECT_TRUE(stale.is_cached()) << "the daemon believes the key";
  EXPECT_FALSE(Client(folder, "key 2").is_cached());
  const Pool pool;
  msg<void>(msg(type("_ANEClient"), "sharedConnection"), "purgeCompiledModel:", stale.model());
  EXPECT_FALSE(stale.is_cached());
}

TEST_F(Vault, ClientModelsMustBeCompiledAsMil) {
  const std::string folder = root() + "/mine";
  stage(folder, doubling(1));
  Client model(folder, "key");
  EXPECT_FALSE(model.load()) << "nothing compiled, and no word of MIL in the options";
  EXPECT_EQ(model.error.code, 16) << model.error.all();
  const Pool pool;
  id problem = nullptr;
  EXPECT_FALSE(msg<bool>(msg(type("_ANEClient"), "sharedConnection"),
                         "compileModel:options:qos:error:", model.model(), dictionary({}), 21u, &problem));
  EXPECT_NE(error_of(problem).under.find("err=(InvalidCompilationParam)"), std::string::npos)
      << error_of(problem).all();
  EXPECT_EQ(msg(type("_ANEModel"), "modelAtURL:key:", id{}, string("key")), nullptr);
}

TEST_F(Vault, S9_5_AttributesAreAlphabeticalWithRowsOf64Bytes) {
  InMemory model(doubling());
  model.stage();
  ASSERT_TRUE(model.compile() && model.load()) << model.error.all();
  const Pool pool;
  id attributes = msg(model.model(), "modelAttributes");
  id description = at_key(attributes, "ANEFModelDescription");
  EXPECT_EQ(symbols(attributes, false), std::vector<std::string>{"x"});
  EXPECT_EQ(symbols(attributes, true), std::vector<std::string>{"y@output"});
  EXPECT_EQ(text(at_index(msg(at_key(description, "kANEFModelProcedureNameToIDMapKey"), "allKeys"), 0)),
            "main");
  id procedure = at_index(at_key(description, "ANEFModelProcedures"), 0);
  const auto value = [](id from, const char* key) {
    return msg<unsigned long long>(at_key(from, key), "unsignedLongLongValue");
  };
  EXPECT_EQ(value(procedure, "ANEFModelProcedureID"), 0u);
  EXPECT_EQ(count(at_key(procedure, "ANEFModelInputSymbolIndexArray")), 1u);
  EXPECT_EQ(count(at_key(description, "ANEFModelOutput16KAlignmentArray")), 1u);
  id port = live_port(attributes, "LiveInputList", 0);
  EXPECT_EQ(text(at_key(port, "Name")), "x");
  EXPECT_EQ(text(at_key(port, "Type")), "Float16");
  const std::pair<const char*, uint64_t> numbers[] = {
      {"Batches", 1},       {"Channels", 32},     {"Depth", 1},
      {"Height", 1},        {"Width", 40},        {"RowStride", 128},
      {"PlaneStride", 128}, {"DepthStride", 128}, {"BatchStride", 32 * 128},
      {"Interleave", 1}};
  for (const auto& [key, expected] : numbers) EXPECT_EQ(value(port, key), expected) << key;
  EXPECT_EQ(text(at_key(live_port(attributes, "LiveOutputList", 0), "Symbol")), "y@output");
  id status = at_index(at_key(attributes, "NetworkStatusList"), 0);
  EXPECT_EQ(text(at_key(status, "Name")), "main");
  EXPECT_EQ(count(at_key(status, "LiveStateList")), 0u);
  EXPECT_EQ(count(at_key(status, "LiveInputParamList")), 0u);
  EXPECT_EQ(msg<signed char>(model.model(), "queueDepth"), 127);
  EXPECT_EQ(msg<uint64_t>(model.model(), "state"), 3u);
  EXPECT_NE(msg<uint64_t>(model.model(), "programHandle"), 0u);
  EXPECT_TRUE(model.unload());
}

TEST_F(Vault, AttributesCanBeSpoiled) {
  set("attributes", "zero_strides,drop:LiveStateList,string:ANEFModelProcedures");
  InMemory model(doubling());
  model.stage();
  ASSERT_TRUE(model.compile() && model.load()) << model.error.all();
  const Pool pool;
  id attributes = msg(model.model(), "modelAttributes");
  EXPECT_EQ(msg<unsigned long long>(at_key(live_port(attributes, "LiveInputList", 0), "RowStride"),
                                    "unsignedLongLongValue"),
            0u);
  EXPECT_EQ(at_key(at_index(at_key(attributes, "NetworkStatusList"), 0), "LiveStateList"), nullptr);
  EXPECT_EQ(text(at_key(at_key(attributes, "ANEFModelDescription"), "ANEFModelProcedures")), "spoiled");
  EXPECT_TRUE(model.unload());
}

}  // namespace
}  // namespace standin
