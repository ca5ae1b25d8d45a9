// A daemon of its own for each test, small programs, and the calls of both routes as one caller that keeps
// the rules would make them.
#pragma once
#include "ane_direct/mil_writer.h"
#include "ane_direct/program.h"
#include "base/fp16.h"
#include "seam.h"

namespace standin {

class StandinTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;  // puts knobs back; nothing may have been autoreleased without a pool
  // A knob for this test.
  void set(const char* knob, const std::string& value);
  std::string root() const { return root_; }
  std::string temp() const { return root_ + "/tmp"; }

  StandinCounters before_{};
  StandinCounters since() const;  // counts since SetUp; …_alive too

 private:
  std::string root_;
  std::vector<std::string> knobs_;
};

// y = conv(x, weight) + one, over [1, 32, 1, width]; the weight doubles.
anelane::Program doubling(float one = 1, uint64_t width = 40,
                          anelane::MilDialect dialect = anelane::MilDialect::kIos18);
// Two inputs and two outputs whose declared order is not the alphabetical one: z_a = a10 - a2, z_b = a10.
anelane::Program two_ports();

id descriptor_of(const anelane::Program& program);
void write_file(const std::string& path, const std::string& bytes);
std::string read_file(const std::string& path);
bool exists(const std::string& path);
void stage(const std::string& folder, const anelane::Program& program);

// The in-memory route. Owns the framework object.
class InMemory {
 public:
  explicit InMemory(const anelane::Program& program);
  ~InMemory() { msg<void>(model_, "release"); }
  InMemory(const InMemory&) = delete;
  InMemory& operator=(const InMemory&) = delete;
  id model() const { return model_; }
  const std::string& hex() const { return hex_; }
  const std::string& folder() const { return folder_; }
  void stage() const { standin::stage(folder_, program_); }
  bool is_cached() const;
  bool compile();  // with a pool around it; fills `error`
  bool load();
  bool unload();
  bool evaluate(id request);
  std::string vault_file() const;
  Error error;

 private:
  anelane::Program program_;
  id model_ = nullptr;
  std::string hex_, folder_;
};

// The client route over a folder of our own.
class Client {
 public:
  Client(const std::string& folder, const std::string& key);
  ~Client() { msg<void>(model_, "release"); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  id model() const { return model_; }
  bool is_cached() const;
  bool compile();
  bool load();
  bool unload();
  bool evaluate(id request);
  std::string vault_file() const;
  Error error;

 private:
  id client_ = nullptr, model_ = nullptr;
};

// A surface that fits a live port or a number of bytes, with its _ANEIOSurfaceObject.
class Surface {
 public:
  explicit Surface(size_t bytes, bool zero = true);
  ~Surface();
  Surface(const Surface&) = delete;
  Surface& operator=(const Surface&) = delete;
  IOSurfaceRef ref() const { return surface_; }
  id object() const { return object_; }
  uint8_t* bytes() const { return static_cast<uint8_t*>(IOSurfaceGetBaseAddress(surface_)); }
  anelane::Half* row(size_t channel, size_t row_stride) const;

 private:
  IOSurfaceRef surface_ = nullptr;
  id object_ = nullptr;
};

// Retained; the caller releases.
id request_of(const std::vector<id>& in, const std::vector<uint64_t>& in_at, const std::vector<id>& out,
              const std::vector<uint64_t>& out_at, uint64_t procedure = 0);
// The live port `index` of NetworkStatusList[0].
id live_port(id model_attributes, const char* list, size_t index);
std::vector<std::string> symbols(id model_attributes, bool output);

}  // namespace standin
