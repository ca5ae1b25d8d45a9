#include "fixture.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

// What is leaked here is leaked on purpose (objects without a pool, programs that nobody unloads), or is
// gnustep's; the counters look for leaks of ours.
extern "C" __attribute__((visibility("default"))) const char* __lsan_default_options();
const char* __lsan_default_options() {
  return "detect_leaks=0";
}

namespace standin {

namespace fs = std::filesystem;
using anelane::MilWriter;
using anelane::Program;

void StandinTest::SetUp() {
  char folder[] = "/tmp/anelane-standin-XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  root_ = folder;
  set("root", root_);
  set("signing_id", "standin-test");
  standin_counters(&before_);
}

void StandinTest::TearDown() {
  for (const std::string& knob : knobs_) standin_set(knob.c_str(), nullptr);
  EXPECT_EQ(since().autoreleased_without_pool, 0);
  EXPECT_EQ(since().pools_alive, 0);
  std::error_code ignored;
  fs::remove_all(root_, ignored);
}

void StandinTest::set(const char* knob, const std::string& value) {
  standin_set(knob, value.c_str());
  knobs_.push_back(knob);
}

StandinCounters StandinTest::since() const {
  StandinCounters now;
  standin_counters(&now);
  auto* words = reinterpret_cast<int64_t*>(&now);
  const auto* old = reinterpret_cast<const int64_t*>(&before_);
  for (size_t i = 2; i < sizeof(now) / sizeof(int64_t); ++i) words[i] -= old[i];
  return now;
}

Program doubling(float one, uint64_t width, anelane::MilDialect dialect) {
  constexpr size_t kChannels = 32;
  std::vector<float> weights(kChannels * kChannels);
  for (size_t i = 0; i < kChannels; ++i) weights[i * kChannels + i] = 2;
  MilWriter mil(dialect);
  const auto x = mil.input("x", {1, kChannels, 1, width});
  mil.output("y", mil.add(mil.conv(x, mil.weight({kChannels, kChannels, 1, 1}, weights)), one));
  return *std::move(mil).finish();
}

Program two_ports() {
  MilWriter mil;
  const auto first = mil.input("a2", {1, 32, 1, 32});
  const auto second = mil.input("a10", {1, 32, 1, 32});
  mil.output("z_b", mil.mul(second, 1.0f));
  mil.output("z_a", mil.sub(second, first));
  return *std::move(mil).finish();
}

id descriptor_of(const Program& program) {
  id weights = dictionary({});
  if (!program.weights.empty())
    weights =
        dictionary({{string("@model_path/weights/weight.bin"),
                     dictionary({{string("offset"), number(0)},
                                 {string("data"), data(program.weights.data(), program.weights.size())}})}});
  return msg(type("_ANEInMemoryModelDescriptor"),
             "modelWithMILText:weights:optionsPlist:", data(program.mil.data(), program.mil.size()), weights,
             id{});
}

void write_file(const std::string& path, const std::string& bytes) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}
std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
bool exists(const std::string& path) {
  return fs::exists(fs::symlink_status(path));
}
void stage(const std::string& folder, const Program& program) {
  write_file(folder + "/model.mil", program.mil);
  if (!program.weights.empty())
    write_file(folder + "/weights/weight.bin", {program.weights.begin(), program.weights.end()});
}

static std::string vault_path(bool client, const std::string& id) {
  char path[1024];
  return standin_vault_file(client, id.c_str(), path, sizeof(path)) ? path : "";
}

InMemory::InMemory(const Program& program) : program_(program) {
  const Pool pool;
  model_ =
      msg(msg(type("_ANEInMemoryModel"), "inMemoryModelWithDescriptor:", descriptor_of(program)), "retain");
  hex_ = text(msg(model_, "hexStringIdentifier"));
  folder_ = text(msg(model_, "localModelPath"));
}
bool InMemory::is_cached() const {
  const Pool pool;
  return msg<bool>(model_, "compiledModelExists");
}
bool InMemory::compile() {
  const Pool pool;
  id problem = nullptr;
  const bool ok = msg<bool>(model_, "compileWithQoS:options:error:", 21u, dictionary({}), &problem);
  error = error_of(problem);
  return ok;
}
bool InMemory::load() {
  const Pool pool;
  id problem = nullptr;
  const bool ok = msg<bool>(model_, "loadWithQoS:options:error:", 21u, dictionary({}), &problem);
  error = error_of(problem);
  return ok;
}
bool InMemory::unload() {
  const Pool pool;
  id problem = nullptr;
  const bool ok = msg<bool>(model_, "unloadWithQoS:error:", 21u, &problem);
  error = error_of(problem);
  return ok;
}
bool InMemory::evaluate(id request) {
  const Pool pool;
  id problem = nullptr;
  const bool ok =
      msg<bool>(model_, "evaluateWithQoS:options:request:error:", 21u, dictionary({}), request, &problem);
  error = error_of(problem);
  return ok;
}
std::string InMemory::vault_file() const {
  return vault_path(false, hex_);
}

Client::Client(const std::string& folder, const std::string& key) {
  const Pool pool;
  client_ = msg(type("_ANEClient"), "sharedConnection");
  id url = msg(type("NSURL"), "fileURLWithPath:isDirectory:", string(folder), static_cast<unsigned char>(1));
  model_ = msg(msg(type("_ANEModel"), "modelAtURL:key:", url, string(key)), "retain");
}
bool Client::is_cached() const {
  const Pool pool;
  return msg<bool>(client_, "compiledModelExistsFor:", model_);
}
bool Client::compile() {
  const Pool pool;
  id problem = nullptr;
  id options = dictionary({{string("kANEFModelType"), string("kANEFModelMIL")},
                           {string("kANEFNetPlistFilenameKey"), string("model.mil")}});
  const bool ok = msg<bool>(client_, "compileModel:options:qos:error:", model_, options, 21u, &problem);
  error = error_of(problem);
  return ok;
}
bool Client::load() {
  const Pool pool;
  id problem = nullptr;
  const bool ok = msg<bool>(client_, "loadModel:options:qos:error:", model_, dictionary({}), 21u, &problem);
  error = error_of(problem);
  return ok;
}
bool Client::unload() {
  const Pool pool;
  id problem = nullptr;
  const bool ok = msg<bool>(client_, "unloadModel:options:qos:error:", model_, dictionary({}), 21u, &problem);
  error = error_of(problem);
  return ok;
}
bool Client::evaluate(id request) {
  const Pool pool;
  id problem = nullptr;
  const bool ok = msg<bool>(client_, "evaluateWithModel:options:request:qos:error:", model_, dictionary({}),
                            request, 21u, &problem);
  error = error_of(problem);
  return ok;
}
std::string Client::vault_file() const {
  const Pool pool;
  return vault_path(true, text(msg(model_, "cacheURLIdentifier")));
}

Surface::Surface(size_t bytes, bool zero) {
  const Pool pool;
  surface_ = IOSurfaceCreate(dictionary({{kIOSurfaceWidth, number(bytes)},
                                         {kIOSurfaceHeight, number(1)},
                                         {kIOSurfaceBytesPerElement, number(1)},
                                         {kIOSurfaceBytesPerRow, number(bytes)},
                                         {kIOSurfaceAllocSize, number(bytes)},
                                         {kIOSurfacePixelFormat, number(0)}}));
  if (zero) std::memset(this->bytes(), 0, IOSurfaceGetAllocSize(surface_));
  object_ = msg(msg(type("_ANEIOSurfaceObject"), "objectWithIOSurface:", surface_), "retain");
}
Surface::~Surface() {
  msg<void>(object_, "release");
  CFRelease(surface_);
}
anelane::Half* Surface::row(size_t channel, size_t row_stride) const {
  return reinterpret_cast<anelane::Half*>(bytes() + channel * row_stride);
}

id request_of(const std::vector<id>& in, const std::vector<uint64_t>& in_at, const std::vector<id>& out,
              const std::vector<uint64_t>& out_at, uint64_t procedure) {
  const Pool pool;
  std::vector<id> in_numbers, out_numbers;
  for (const uint64_t at : in_at) in_numbers.push_back(number(at));
  for (const uint64_t at : out_at) out_numbers.push_back(number(at));
  return msg(
      msg(type("_ANERequest"),
          "requestWithInputs:inputIndices:outputs:outputIndices:weightsBuffer:perfStats:procedureIndex:",
          array(in), array(in_numbers), array(out), array(out_numbers), id{}, id{}, number(procedure)),
      "retain");
}

id live_port(id attributes, const char* list, size_t index) {
  return at_index(at_key(at_index(at_key(attributes, "NetworkStatusList"), 0), list), index);
}

std::vector<std::string> symbols(id attributes, bool output) {
  std::vector<std::string> out;
  id names = at_key(at_key(attributes, "ANEFModelDescription"),
                    output ? "kANEFModelOutputSymbolsArrayKey" : "kANEFModelInputSymbolsArrayKey");
  for (size_t i = 0; i < count(names); ++i) out.push_back(text(at_index(names, i)));
  return out;
}

}  // namespace standin
