#include "on_standin.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "ane_direct/mil_writer.h"
#include "ane_direct/soft/soft_engine.h"
#include "base/fp16.h"

namespace anelane {
namespace {

// The rules that hold in every test, at the end of every process.
void expect_clean() {
  const StandinCounters c = counters();
  EXPECT_EQ(c.autoreleased_without_pool, 0);
  EXPECT_EQ(c.unbalanced_locks, 0);
  EXPECT_EQ(c.evaluated_while_locked, 0);
  EXPECT_EQ(c.dirty_padding_rows, 0);
  EXPECT_EQ(c.aliased_surfaces, 0);
  EXPECT_EQ(c.overlapping_calls, 0);
  EXPECT_EQ(c.unloaded_by_nobody, 0);
  EXPECT_EQ(c.pools_alive, 0);
  EXPECT_EQ(c.surfaces_alive, 0);
  EXPECT_EQ(c.surface_objects_alive, 0);
  EXPECT_EQ(c.requests_alive, 0);
  EXPECT_EQ(c.descriptors_alive, 0);
  EXPECT_EQ(c.in_memory_models_alive, 0);
  EXPECT_EQ(c.client_models_alive, 0);
  EXPECT_EQ(c.programs_alive, 0);
  EXPECT_EQ(c.temporaries_alive, 0);
}

}  // namespace

int in_process_on(const Machine& machine, const std::function<void()>& body) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(300);
    ::unsetenv("TMPDIR");
    ::setenv("ANE_STANDIN_ROOT", machine.root().c_str(), 1);
    for (const auto& [knob, value] : machine.knobs) {
      std::string name = "ANE_STANDIN_";
      for (const char c : knob) name += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
      ::setenv(name.c_str(), value.c_str(), 1);
    }
    body();
    expect_clean();
    std::fflush(nullptr);
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int how = 0;
  EXPECT_EQ(::waitpid(child, &how, 0), child);
  return how;
}

AppleEngineOptions options_on(const Machine& machine, const std::string& route, const std::string& dialect) {
  AppleEngineOptions options = options_on_standin();
  options.route = route;
  options.mil_dialect = dialect;
  options.cache_dir = machine.cache();
  options.sleep_ms = [](uint64_t) {};
  return options;
}

std::unique_ptr<Engine> engine_on(const Machine& machine, const std::string& route,
                                  const std::string& dialect) {
  Result<std::unique_ptr<Engine>> engine = make_apple_engine(options_on(machine, route, dialect));
  EXPECT_TRUE(engine.ok()) << engine.status().message();
  if (engine.ok()) return *std::move(engine);
  std::fflush(nullptr);
  ::_exit(1);
}

std::unique_ptr<Engine> soft_engine(const std::string& cache_dir) {
  SoftEngineOptions options;
  options.cache_dir = cache_dir;
  options.temp_dir = cache_dir;
  options.signing_identifier = "apple-test";
  options.threads = 1;
  return *make_soft_engine(options);
}

StandinCounters counters() {
  StandinCounters c{};
  standin_api().counters(&c);
  return c;
}

void set_knob(const char* knob, const std::string& value) {
  standin_api().set(knob, value.c_str());
}

Program doubling(float one, uint64_t width, MilDialect dialect) {
  constexpr uint64_t kChannels = 32;
  MilWriter mil(dialect);
  const auto x = mil.input("a00_x", {1, kChannels, 1, width});
  std::vector<float> weights(kChannels * kChannels, 0.0f);
  for (uint64_t i = 0; i < kChannels; ++i) weights[i * kChannels + i] = 2.0f;
  const auto w = mil.weight({kChannels, kChannels, 1, 1}, weights);
  mil.output("z00_y", mil.add(mil.conv(x, w), one));
  return *std::move(mil).finish();
}

Program two_ports(MilDialect dialect) {
  MilWriter mil(dialect);
  const auto a2 = mil.input("a2", {1, 32, 1, 40});
  const auto a10 = mil.input("a10", {1, 32, 1, 40});
  mil.output("z_b", mil.mul(a10, 1.0f));
  mil.output("z_a", mil.sub(a10, a2));
  return *std::move(mil).finish();
}

std::vector<std::vector<uint8_t>> run_program(Engine& engine, LoadedProgram& program, bool engine_memory,
                                              uint64_t seed) {
  using Access = EngineMemory::Access;
  std::vector<std::unique_ptr<EngineMemory>> memory;
  std::vector<std::vector<uint8_t>> plain;
  std::vector<Buffer> in, out;
  for (const bool inputs : {true, false})
    for (const Port& port : inputs ? program.inputs() : program.outputs()) {
      std::vector<uint8_t> bytes(port.bytes, inputs ? 0 : 0x55);
      for (size_t i = 0; inputs && i + 1 < bytes.size(); i += 2) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        const Half value = float_to_half(static_cast<float>(seed >> 40) / 16777216.0f - 0.5f);
        std::memcpy(&bytes[i], &value, 2);
      }
      if (inputs) clear_padding(port, bytes.data());
      plain.push_back(std::move(bytes));
      Buffer buffer{plain.back().data(), port.bytes};
      if (engine_memory) {
        memory.push_back(*engine.allocate(port.bytes));
        EXPECT_TRUE(memory.back()->begin_access(Access::kWrite).ok());
        std::memcpy(memory.back()->buffer().data, plain.back().data(), port.bytes);
        EXPECT_TRUE(memory.back()->end_access(Access::kWrite).ok());
        buffer = memory.back()->buffer();
      }
      (inputs ? in : out).push_back(buffer);
    }
  const Status status = program.run(in, out);
  EXPECT_TRUE(status.ok()) << status.message();
  std::vector<std::vector<uint8_t>> results;
  for (size_t i = 0; i < out.size(); ++i) {
    EngineMemory* from = out[i].memory;
    if (from != nullptr) {
      EXPECT_TRUE(from->begin_access(Access::kRead).ok());
    }
    const auto* data = static_cast<const uint8_t*>(out[i].data);
    results.push_back(elements_of(program.outputs()[i], {data, data + program.outputs()[i].bytes}));
    if (from != nullptr) {
      EXPECT_TRUE(from->end_access(Access::kRead).ok());
    }
  }
  return results;
}

std::vector<uint8_t> elements_of(const Port& port, const std::vector<uint8_t>& bytes) {
  std::vector<uint8_t> elements;
  const size_t last = port.dims.size() - 1;
  const uint64_t row = port.dims[last] * port.strides[last], stride = port.strides[last - 1];
  for (uint64_t at = 0; at + row <= bytes.size(); at += stride)
    elements.insert(elements.end(), bytes.begin() + static_cast<long>(at),
                    bytes.begin() + static_cast<long>(at + row));
  return elements;
}

std::vector<std::string> files_below(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code none;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, none))
    found.push_back(std::filesystem::relative(entry.path(), folder).string());
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace anelane
