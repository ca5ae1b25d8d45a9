// One daemon state in each process (the soft engine's core, the machine's pool), the vault shared by all.
// What is loaded is a plan of the soft engine; a vault entry is the encoded plan, the function's name, and
// the identifier that it was compiled for, so that a damaged or foreign entry is a bad image.
//
// StandinProgram: room → loaded → unloaded. The place in the pool is held by the soft program inside, which
// goes with the last reference: an unload gives nothing back while a compile's autoreleased temporaries are
// alive.
//
// Threads: one mutex for compile, load and evaluate (the engine has one thing in flight); references are
// atomic.
#include "daemon.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "ane_direct/mil_parser.h"
#include "ane_direct/sha256.h"
#include "ane_direct/soft/compile.h"
#include "ane_direct/soft/plan_codec.h"
#include "ane_direct/soft/soft_program.h"
#include "base/file.h"
#include "bundle.h"
#include "counters.h"
#include "knobs.h"
#include "vault.h"

using namespace anelane;

struct StandinProgram {
  std::atomic<int> references{1};
  std::atomic<bool> loaded{false};
  std::unique_ptr<LoadedProgram> program;
  std::string function;
  ~StandinProgram() {
    if (program != nullptr) STANDIN_COUNT(programs_alive, -1);
  }
};

namespace standin {
namespace {

struct State {
  std::mutex mutex;
  std::string key;  // root and limit that the core was made for
  std::shared_ptr<soft::SoftCore> core;
};

State& state() {
  static State* const one = new State;
  return *one;
}

uint32_t pool_limit() {
  return static_cast<uint32_t>(standin_knob_number("pool_limit", 118));
}

std::shared_ptr<soft::SoftCore> core_of(State* state) {
  const std::string key = root_folder() + "\n" + std::to_string(pool_limit());
  if (state->core != nullptr && state->key == key) return state->core;
  auto core = std::make_shared<soft::SoftCore>();
  core->kernels = &soft::best_kernels();
  Result<std::unique_ptr<soft::ThreadPool>> threads =
      soft::ThreadPool::make(static_cast<uint32_t>(standin_knob_number("threads", 1)));
  if (!threads.ok()) return nullptr;
  core->threads = *std::move(threads);
  core->pool = soft::ProgramPool::open(root_folder(), pool_limit());
  state->key = key;
  state->core = core;
  return core;
}

// main, or the first function: what the soft compiler takes.
std::string function_name(const std::string& mil) {
  const Result<MilProgram> tree = parse_mil(mil);
  if (!tree.ok() || tree->functions.empty()) return "main";
  for (const MilFunction& function : tree->functions)
    if (function.name == "main") return "main";
  return std::string(tree->functions.front().name);
}

void append(std::vector<uint8_t>* bytes, const std::string& text) {
  bytes->insert(bytes->end(), text.begin(), text.end());
}

StandinOutcome outcome_of_compile(const Status& status) {
  if (status.message().starts_with("InvalidMILProgram")) return STANDIN_INVALID_MIL;
  return STANDIN_COMPILATION_FAILURE;
}

const char* type_name(Dtype dtype) {
  switch (dtype) {
    case Dtype::kF16:
      return "Float16";
    case Dtype::kF32:
      return "Float32";
    case Dtype::kI32:
      return "Int32";
    case Dtype::kI8:
      return "Int8";
    case Dtype::kU8:
      return "UInt8";
  }
  return "Float16";
}

uint64_t row_bytes(const Port& port) {
  return port.dims.back() * dtype_size(port.dtype);
}
uint64_t row_stride(const Port& port) {
  return (row_bytes(port) + 63) / 64 * 64;
}

void count_dirty_rows(const Port& port, const uint8_t* data) {
  for (uint64_t at = 0; at < port.bytes; at += row_stride(port))
    for (uint64_t i = row_bytes(port); i < row_stride(port); ++i)
      if (data[at + i] != 0 && data[at + i] != STANDIN_OUTPUT_PADDING) {
        STANDIN_COUNT(dirty_padding_rows, 1);
        break;
      }
}

void poison_padding(const Port& port, uint8_t* data) {
  for (uint64_t at = 0; at < port.bytes; at += row_stride(port))
    std::memset(data + at + row_bytes(port), STANDIN_OUTPUT_PADDING, row_stride(port) - row_bytes(port));
}

}  // namespace
}  // namespace standin

using namespace standin;

StandinProgram* standin_program_make(void) {
  return new StandinProgram;
}
void standin_program_retain(StandinProgram* program) {
  program->references.fetch_add(1, std::memory_order_relaxed);
}
static void destroy(StandinProgram* program) {
  const std::lock_guard lock(state().mutex);
  delete program;
}
void standin_program_release(StandinProgram* program) {
  if (program == nullptr || program->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  const long reclaim_ms = standin_knob_number("reclaim_ms", 0);
  if (reclaim_ms <= 0 || program->program == nullptr) return destroy(program);
  std::thread([program, reclaim_ms] {
    std::this_thread::sleep_for(std::chrono::milliseconds(reclaim_ms));
    destroy(program);
  }).detach();
}

bool standin_daemon_exists(bool client, const char* id) {
  maintain_vault();
  return entry_exists(entry_file(client, id));
}

void standin_daemon_purge(bool client, const char* id) {
  purge_entry(entry_file(client, id));
}

StandinOutcome standin_daemon_compile(bool client, const char* id, const StandinBundle* bundle) {
  STANDIN_COUNT(compiles, 1);
  standin_stall("compile");
  maintain_vault();
  const std::string path = entry_file(client, id);
  if (path.empty()) return STANDIN_NO_IDENTITY;
  Program program;
  if (const StandinOutcome read = read_bundle(*bundle, &program); read != STANDIN_OK) return read;
  const std::lock_guard lock(state().mutex);
  const Result<soft::Plan> plan = soft::compile_program(program);
  if (!plan.ok()) return outcome_of_compile(plan.status());
  std::vector<uint8_t> bytes = soft::encode_plan(*plan);
  const std::string function = function_name(program.mil);
  append(&bytes, function);
  append(&bytes, id);
  bytes.push_back(static_cast<uint8_t>(std::min<size_t>(function.size(), 255)));
  if (!store_entry(path, bytes).ok()) return STANDIN_FILE_ACCESS;
  STANDIN_COUNT(compiles_done, 1);
  return STANDIN_OK;
}

StandinOutcome standin_daemon_load(bool client, const char* id, StandinProgram* into) {
  STANDIN_COUNT(loads, 1);
  standin_stall("load");
  maintain_vault();
  const std::string path = entry_file(client, id);
  if (path.empty()) return STANDIN_NO_IDENTITY;
  Result<std::string> bytes = fetch_entry(path);
  if (!bytes.ok() || bytes->empty()) return STANDIN_FILE_NOT_FOUND;
  const size_t name_size = static_cast<uint8_t>(bytes->back());
  bytes->pop_back();
  if (!bytes->ends_with(id) || bytes->size() < std::strlen(id) + name_size) return STANDIN_BAD_IMAGE;
  bytes->resize(bytes->size() - std::strlen(id));
  const std::string function = bytes->substr(bytes->size() - name_size);
  bytes->resize(bytes->size() - name_size);
  const std::lock_guard lock(state().mutex);
  const std::shared_ptr<soft::SoftCore> core = core_of(&state());
  if (core == nullptr) return STANDIN_NO_RESOURCES;
  Result<std::unique_ptr<LoadedProgram>> program =
      soft::load_plan(core, {reinterpret_cast<const uint8_t*>(bytes->data()), bytes->size()});
  if (!program.ok())
    return program.status().code() == Code::kResourcesExhausted ? STANDIN_NO_RESOURCES : STANDIN_BAD_IMAGE;
  into->program = *std::move(program);
  into->function = function;
  into->loaded = true;
  STANDIN_COUNT(programs_alive, 1);
  STANDIN_COUNT(loads_done, 1);
  return STANDIN_OK;
}

void standin_daemon_unload(StandinProgram* program) {
  program->loaded = false;
}
bool standin_daemon_is_loaded(const StandinProgram* program) {
  return program != nullptr && program->loaded;
}

size_t standin_program_ports(const StandinProgram* program, bool output) {
  return output ? program->program->outputs().size() : program->program->inputs().size();
}

StandinPort standin_program_port(const StandinProgram* program, bool output, size_t index) {
  const Port& port = output ? program->program->outputs()[index] : program->program->inputs()[index];
  StandinPort out{port.name.c_str(), type_name(port.dtype), port.dims.size(), {}, {}, port.bytes};
  for (size_t i = 0; i < port.dims.size() && i < 5; ++i) {
    out.dims[i] = port.dims[i];
    out.strides[i] = port.strides[i];
  }
  return out;
}

const char* standin_program_function(const StandinProgram* program) {
  return program->function.c_str();
}

StandinOutcome standin_daemon_evaluate(StandinProgram* program, const StandinSpan* in, size_t in_count,
                                       const StandinSpan* out, size_t out_count) {
  standin_stall("evaluate");
  const std::lock_guard lock(state().mutex);
  if (!standin_daemon_is_loaded(program)) return STANDIN_PROGRAM_GONE;
  LoadedProgram& loaded = *program->program;
  if (in_count != loaded.inputs().size() || out_count != loaded.outputs().size()) return STANDIN_BAD_INDEX;
  std::vector<Buffer> inputs, outputs;
  for (size_t i = 0; i < in_count; ++i) {
    if (in[i].bytes < loaded.inputs()[i].bytes) return STANDIN_SMALL_SURFACE;
    count_dirty_rows(loaded.inputs()[i], static_cast<const uint8_t*>(in[i].data));
    inputs.push_back({in[i].data, in[i].bytes});
  }
  for (size_t i = 0; i < out_count; ++i) {
    if (out[i].bytes < loaded.outputs()[i].bytes) return STANDIN_SMALL_SURFACE;
    outputs.push_back({out[i].data, out[i].bytes});
  }
  if (!loaded.run(inputs, outputs).ok()) return STANDIN_BAD_INDEX;
  for (size_t i = 0; i < out_count; ++i)
    poison_padding(loaded.outputs()[i], static_cast<uint8_t*>(out[i].data));
  return STANDIN_OK;
}

static std::atomic<int> g_lifecycle{0};
void standin_lifecycle_enter(void) {
  if (g_lifecycle.fetch_add(1) != 0) STANDIN_COUNT(overlapping_calls, 1);
}
void standin_lifecycle_leave(void) {
  g_lifecycle.fetch_sub(1);
}

void standin_sha256(const void* a, size_t a_bytes, const void* b, size_t b_bytes, char* out) {
  Sha256 sum;
  sum.update(std::span(static_cast<const uint8_t*>(a), a_bytes));
  if (b_bytes > 0) sum.update(std::span(static_cast<const uint8_t*>(b), b_bytes));
  const std::string hex = upper_hex(sum.finish());
  std::memcpy(out, hex.c_str(), hex.size() + 1);
}

bool standin_signing_id(char* out, size_t room) {
  std::string id = knob("signing_id");
  if (id.empty()) {
    char path[4096];
    const ssize_t n = ::readlink("/proc/self/exe", path, sizeof(path));
    if (n > 0) id.assign(path, static_cast<size_t>(n));
    id = id.substr(id.rfind('/') + 1);
  }
  if (id == "none" || id.empty() || id.size() >= room || id.find("..") != std::string::npos ||
      id.find('/') != std::string::npos)
    return false;
  std::memcpy(out, id.c_str(), id.size() + 1);
  return true;
}

static std::string without_slash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

const char* standin_user_temp_dir(void) {
  thread_local std::string path;
  path = without_slash(knob("temp_dir"));
  if (path.empty()) path = root_folder() + "/tmp";
  (void)make_folders(path, 0700);
  return path.c_str();
}

const char* standin_temporary_directory(void) {
  thread_local std::string path;
  const char* variable = std::getenv("TMPDIR");
  path = variable != nullptr && variable[0] != 0 ? without_slash(variable) : standin_user_temp_dir();
  return path.c_str();
}

bool standin_temp_is_redirected(void) {
  const std::string used = standin_temporary_directory();
  return used != standin_user_temp_dir();
}

uint32_t standin_pool_in_use(void) {
  const UniqueFd fd(::open((root_folder() + "/programs.pool").c_str(), O_RDWR | O_CLOEXEC));
  uint32_t used = 0;
  for (uint32_t i = 0; fd && i < pool_limit(); ++i) {
    struct flock range {};
    range.l_type = F_WRLCK;
    range.l_whence = SEEK_SET;
    range.l_start = i;
    range.l_len = 1;
    if (::fcntl(fd.get(), F_OFD_GETLK, &range) == 0 && range.l_type != F_UNLCK) ++used;
  }
  return used;
}
