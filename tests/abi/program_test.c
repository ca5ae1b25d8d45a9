/* Models of the caller's own programs through the C interface: the committed example is loaded, admitted,
 * leased and run like any other model; ports by name, two widths, several outputs; crash and recovery; what
 * is refused. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fixtures.h"
#include "support.h"

#define EXAMPLE ANELANE_SOURCE_DIR "/examples/programs/residual"

enum { CHANNELS = 32, X = 0, TOTAL = 1, Y = 2, PORTS = 3 };

static char* folder;
static anelane_lane lane;
static anelane_model model;

static int set_up(void** state) {
  (void)state;
  folder = make_folder();
  lane = open_in(folder);
  model = load_into(lane, EXAMPLE);
  return 0;
}

static int tear_down(void** state) {
  (void)state;
  close_lane(lane);
  remove_folder(folder);
  return 0;
}

struct result {
  uint16_t total[128], y[CHANNELS * 128];
};

static anelane_lease lease_of(anelane_model of, uint32_t width) {
  anelane_error err = NEW_ERROR();
  anelane_lease lease;
  assert_status(ANELANE_OK, anelane_lease_acquire(of, width, in_ms(BOUND_MS), &lease, &err), &err);
  return lease;
}

static void run_on(anelane_lease lease, uint32_t width, struct result* to) {
  anelane_error err = NEW_ERROR();
  static uint16_t x[CHANNELS * 128];
  for (uint32_t i = 0; i < CHANNELS * width; i++)
    x[i] = (uint16_t)(0x2c00 + (i * 37) % 1024 + (i % 3 == 0 ? 0x8000 : 0));
  memset(to, 0, sizeof *to);
  const anelane_tensor in = {.data = x, .bytes = 2ull * CHANNELS * width, .port = X};
  const anelane_tensor out[] = {{.data = to->y, .bytes = 2ull * CHANNELS * width, .port = Y},
                                {.data = to->total, .bytes = 2ull * width, .port = TOTAL}};
  assert_status(ANELANE_OK, anelane_run(lease, &in, 1, out, 2, in_ms(BOUND_MS), &err), &err);
}

static void run_once(anelane_model of, uint32_t width, struct result* to) {
  const anelane_lease lease = lease_of(of, width);
  run_on(lease, width, to);
  anelane_lease_release(lease);
}

static double value_of(uint16_t half) {
  const int exponent = (half >> 10) & 31, mantissa = half & 1023;
  double value = exponent == 0 ? mantissa / 1024.0 / 16384.0 : 1 + mantissa / 1024.0;
  for (int e = exponent; e != 0 && e < 15; e++) value /= 2;
  for (int e = exponent; e > 15; e--) value *= 2;
  return half & 0x8000 ? -value : value;
}

static void the_model_says_what_it_is(void** state) {
  anelane_error err = NEW_ERROR();
  anelane_model_info info = {.struct_size = sizeof info};
  (void)state;
  assert_status(ANELANE_OK, anelane_model_get_info(model, &info, &err), &err);
  assert_int_equal(info.kind, ANELANE_PROGRAM);
  assert_int_equal(info.layers, 3); /* programs: the charge of one resident shape */
  assert_int_equal(info.rung_count, 2);
  assert_int_equal(info.rungs[0], 64);
  assert_int_equal(info.ceiling, 128);
  assert_int_equal(info.dim, 0);
  assert_string_equal(info.architecture, "program");
  anelane_model_info inspected = {.struct_size = sizeof inspected};
  assert_status(ANELANE_OK, anelane_model_inspect(EXAMPLE, &inspected, &err), &err);
  assert_int_equal(inspected.kind, ANELANE_PROGRAM);
  assert_int_equal(inspected.layers, 3);
}

static void ports_are_those_of_the_width_by_name(void** state) {
  anelane_error err = NEW_ERROR();
  (void)state;
  for (uint32_t width = 64; width <= 128; width *= 2) {
    anelane_port ports[PORTS];
    size_t count = 0;
    for (int i = 0; i < PORTS; i++) ports[i].struct_size = sizeof ports[i];
    assert_status(ANELANE_OK, anelane_model_ports(model, width, ports, PORTS, &count, &err), &err);
    assert_int_equal(count, PORTS);
    assert_string_equal(ports[X].name, "x");
    assert_string_equal(ports[TOTAL].name, "total");
    assert_string_equal(ports[Y].name, "y");
    assert_int_equal(ports[X].is_output, 0);
    assert_int_equal(ports[TOTAL].is_output, 1);
    assert_int_equal(ports[Y].dtype, ANELANE_F16);
    assert_int_equal(ports[Y].rank, 4);
    assert_int_equal(ports[Y].dims[1], CHANNELS);
    assert_int_equal(ports[Y].dims[3], width);
    assert_int_equal(ports[Y].bytes, 2 * CHANNELS * width);
    assert_int_equal(ports[TOTAL].dims[1], 1);
  }
  assert_status(ANELANE_SHAPE_UNKNOWN, anelane_model_ports(model, 96, NULL, 0, &(size_t){0}, &err), &err);
}

static void both_widths_run_and_the_outputs_agree(void** state) {
  (void)state;
  for (uint32_t width = 64; width <= 128; width *= 2) {
    struct result first, again;
    run_once(model, width, &first);
    run_once(model, width, &again);
    assert_memory_equal(&first, &again, sizeof first);
    for (uint32_t column = 0; column < width; column++) {
      double sum = 0;
      for (uint32_t c = 0; c < CHANNELS; c++) sum += value_of(first.y[c * width + column]);
      const double total = value_of(first.total[column]);
      assert_true(sum - total < 0.02 && total - sum < 0.02);
      assert_true(first.y[column] != 0);
    }
  }
  anelane_lane_stats stats = {.struct_size = sizeof stats};
  anelane_error err = NEW_ERROR();
  assert_status(ANELANE_OK, anelane_lane_get_stats(lane, &stats, &err), &err);
  assert_int_equal(stats.resident, 2);
  assert_int_equal(stats.reserved_programs, 6); /* three for each width */
}

static void mapped_and_asynchronous_runs_give_the_same_bits(void** state) {
  anelane_error err = NEW_ERROR();
  struct result copied;
  anelane_tensor x, y;
  (void)state;
  run_once(model, 64, &copied);
  const anelane_lease lease = lease_of(model, 64);
  assert_status(ANELANE_OK, anelane_lease_map(lease, X, &x, &err), &err);
  assert_status(ANELANE_OK, anelane_lease_map(lease, Y, &y, &err), &err);
  uint16_t* halves = x.data;
  for (uint32_t i = 0; i < CHANNELS * 64; i++)
    halves[i] = (uint16_t)(0x2c00 + (i * 37) % 1024 + (i % 3 == 0 ? 0x8000 : 0));
  const anelane_tensor in = {.port = X}, out = {.port = Y};
  assert_status(ANELANE_OK, anelane_run(lease, &in, 1, &out, 1, in_ms(BOUND_MS), &err), &err);
  assert_memory_equal(y.data, copied.y, 2 * CHANNELS * 64);
  anelane_op op;
  assert_status(ANELANE_OK, anelane_start_run(lease, &in, 1, in_ms(BOUND_MS), NULL, NULL, &op, &err), &err);
  assert_status(ANELANE_OK, anelane_op_wait(op, in_ms(BOUND_MS), &err), &err);
  const void* data;
  size_t bytes;
  assert_status(ANELANE_OK, anelane_op_output(op, TOTAL, &data, &bytes, &err), &err);
  assert_int_equal(bytes, 128);
  assert_memory_equal(data, copied.total, bytes);
  anelane_op_release(op);
  anelane_lease_release(lease);
}

static void wrong_tensors_are_refused_by_name(void** state) {
  anelane_error err = NEW_ERROR();
  static uint16_t memory[CHANNELS * 128];
  const anelane_lease lease = lease_of(model, 64);
  const anelane_tensor y = {.data = memory, .bytes = 2 * CHANNELS * 64, .port = Y};
  const anelane_tensor wide = {.data = memory, .bytes = 2 * CHANNELS * 128, .port = X};
  (void)state;
  assert_status(ANELANE_INVALID_ARGUMENT, anelane_run(lease, &wide, 1, &y, 1, in_ms(BOUND_MS), &err), &err);
  assert_says(&err, "port 0 (x) takes 4096 bytes, 8192 are given");
  assert_status(ANELANE_INVALID_ARGUMENT, anelane_run(lease, NULL, 0, &y, 1, in_ms(BOUND_MS), &err), &err);
  assert_says(&err, "input port 0 (x) is not given");
  assert_status(ANELANE_INVALID_ARGUMENT, anelane_run(lease, &y, 1, &y, 1, in_ms(BOUND_MS), &err), &err);
  anelane_lease_release(lease);
}

static void texts_and_tokens_are_refused(void** state) {
  anelane_error err = NEW_ERROR();
  const int32_t id = 1;
  const anelane_tokens item = {&id, 1};
  const char* text = "a";
  float row[4];
  (void)state;
  assert_status(ANELANE_UNSUPPORTED, anelane_embed(model, &item, 1, row, 0, NULL, in_ms(BOUND_MS), &err),
                &err);
  assert_says(&err, "lease a shape and run it");
  assert_status(ANELANE_UNSUPPORTED,
                anelane_embed_texts(model, &text, 1, row, 0, NULL, in_ms(BOUND_MS), &err), &err);
}

static void after_a_crash_the_programs_are_loaded_again(void** state) {
  anelane_error err = NEW_ERROR();
  struct result before, after;
  (void)state;
  run_once(model, 64, &before);
  const pid_t worker = only_child();
  kill(worker, SIGKILL);
  /* A run may still be answered with the crash; after that the new worker serves. */
  for (const uint64_t end = in_ms(BOUND_MS); anelane_now_ns() < end;) {
    anelane_lease lease;
    if (anelane_lease_acquire(model, 64, in_ms(BOUND_MS), &lease, &err) == ANELANE_OK) {
      anelane_lease_release(lease);
      pid_t children[2]; /* none between the two workers */
      if (children_of_self(children, 2) == 1 && children[0] != worker) break;
    }
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
  }
  run_once(model, 64, &after);
  assert_memory_equal(&before, &after, sizeof before);
  assert_true(only_child() != worker);
}

/* ---- folders of the test's own ---- */

#define RELU(width)                                                                        \
  "program(1.3)\n{\n    func main<ios18>(tensor<fp16, [1, 4, 1, " #width                   \
  "]> a, tensor<fp16, [1, 4, 1, " #width "]> b) {\n        tensor<fp16, [1, 4, 1, " #width \
  "]> y = add(x = a, y = b);\n    } -> (y);\n}\n"

/* A folder with these two files; NULL: without. */
static const char* write_model(const char* name, const char* manifest, const char* mil) {
  const char* path = path_in(folder, name);
  char command[512];
  snprintf(command, sizeof command, "mkdir -p '%s'", path);
  assert_int_equal(system(command), 0);
  if (manifest != NULL) write_text(path_in(path, "program.json"), manifest);
  if (mil != NULL) write_text(path_in(path, "a.mil"), mil);
  return path_in(folder, name);
}

static void a_single_program_with_two_inputs_runs(void** state) {
  anelane_error err = NEW_ERROR();
  const char* path =
      write_model("single", "{\"format\": 1, \"rungs\": {\"20\": [{\"mil\": \"a.mil\"}]}}", RELU(20));
  const anelane_model single = load_into(lane, path);
  uint16_t a[4 * 32] = {0}, b[4 * 32] = {0}, y[4 * 32];
  (void)state;
  /* Rows of 20 halves are padded to 64 bytes: the strides say so. */
  anelane_port port = {.struct_size = sizeof port};
  size_t count;
  assert_status(ANELANE_OK, anelane_model_ports(single, 20, &port, 1, &count, &err), &err);
  assert_int_equal(port.strides[2], 64);
  assert_int_equal(port.strides[1], 64);
  assert_int_equal(port.bytes, 256);
  for (int c = 0; c < 4; c++)
    for (int s = 0; s < 20; s++) a[32 * c + s] = 0x3c00, b[32 * c + s] = (uint16_t)(0x4000 + c); /* 1 + 2… */
  const anelane_tensor in[] = {{.data = b, .bytes = 256, .port = 1}, {.data = a, .bytes = 256, .port = 0}};
  const anelane_tensor out = {.data = y, .bytes = 256, .port = 2};
  const anelane_lease lease = lease_of(single, 20);
  assert_status(ANELANE_OK, anelane_run(lease, in, 2, &out, 1, in_ms(BOUND_MS), &err), &err);
  assert_int_equal(y[0], 0x4200); /* 3 */
  assert_int_equal(y[19], 0x4200);
  anelane_lease_release(lease);
  assert_status(ANELANE_OK, anelane_model_retire(single, in_ms(BOUND_MS), &err), &err);
}

static void a_started_load_reads_nothing_before_it_returns(void** state) {
  anelane_error err = NEW_ERROR();
  anelane_op op;
  (void)state;
  const char* path = write_model("unread", "nonsense", NULL);
  assert_status(ANELANE_OK, anelane_start_load(lane, path, NULL, in_ms(BOUND_MS), NULL, NULL, &op, &err),
                &err);
  assert_status(ANELANE_MODEL_INVALID, anelane_op_wait(op, in_ms(BOUND_MS), &err), &err);
  assert_says(&err, "program.json");
  anelane_op_release(op);
}

static void files_that_changed_since_the_load_are_refused_for_good(void** state) {
  const char* manifest = "{\"format\": 1, \"rungs\": {\"64\": [{\"mil\": \"a.mil\"}]}}";
  anelane_error err = NEW_ERROR();
  anelane_lease lease;
  anelane_status status = ANELANE_OK;
  (void)state;
  const pid_t other = only_child();
  const anelane_model changed = load_into(lane, write_model("changed", manifest, RELU(64)));
  anelane_lease_release(lease_of(changed, 64));
  write_model("changed", manifest, RELU(32));
  pid_t children[2];
  assert_int_equal(children_of_self(children, 2), 2);
  kill(children[0] == other ? children[1] : children[0], SIGKILL);
  /* Until its replacements have failed often enough, the crash itself is told, or the shape is there still.
   */
  for (const uint64_t end = in_ms(BOUND_MS); status != ANELANE_MODEL_INVALID && anelane_now_ns() < end;) {
    status = anelane_lease_acquire(changed, 64, in_ms(BOUND_MS), &lease, &err);
    if (status == ANELANE_OK) anelane_lease_release(lease);
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
  }
  assert_status(ANELANE_MODEL_INVALID, status, &err);
  assert_int_equal(err.error_class, ANELANE_PERMANENT);
  assert_int_equal(err.retry_after_ms, 0);
  assert_says(&err, "retire the model and load it again");
  assert_status(ANELANE_OK, anelane_model_retire(changed, in_ms(BOUND_MS), &err), &err);
}

static void what_cannot_be_served_is_refused_with_its_place(void** state) {
  const char* good = "{\"format\": 1, \"rungs\": {\"64\": [{\"mil\": \"a.mil\"}]}}";
  const struct {
    const char *manifest, *mil;
    anelane_status status;
    const char* says;
  } cases[] = {
      {"nonsense", RELU(64), ANELANE_MODEL_INVALID, "program.json"},
      {"{\"format\": 1, \"rungs\": {\"64\": []}}", RELU(64), ANELANE_MODEL_INVALID, "rungs: 64"},
      {"{\"format\": 1, \"rungs\": {\"64\": [{\"mil\": \"../a.mil\"}]}}", RELU(64), ANELANE_MODEL_INVALID,
       "mil"},
      {good, NULL, ANELANE_IO, "a.mil"},
      {good, "program(1.3) {", ANELANE_MODEL_INVALID, "a.mil: InvalidMILProgram: line 1"},
      {good,
       "program(1.3)\n{\n  func main<ios18>(tensor<fp16, [1, 64]> x) {\n    tensor<fp16, [1, 64]> y = zap(x "
       "= x);\n  } -> (y);\n}\n",
       ANELANE_COMPILE_FAILED, "shape 64, layer 0 (a.mil): CompilationFailure: line 4"},
      {"{\"format\": 1, \"rungs\": {\"64\": [{\"mil\": \"a.mil\", \"weights\": \"w.bin\"}]}}", RELU(64),
       ANELANE_IO, "w.bin"},
  };
  anelane_error err = NEW_ERROR();
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char name[16];
    anelane_model none = {0};
    snprintf(name, sizeof name, "bad%zu", i);
    const char* path = write_model(name, cases[i].manifest, cases[i].mil);
    assert_status(cases[i].status, anelane_model_load(lane, path, NULL, in_ms(BOUND_MS), &none, &err), &err);
    assert_says(&err, cases[i].says);
    assert_int_equal(none.bits, 0);
  }
  anelane_lane_stats stats = {.struct_size = sizeof stats};
  assert_status(ANELANE_OK, anelane_lane_get_stats(lane, &stats, &err), &err);
  assert_int_equal(stats.models, 1);
}

/* ---- the same from memory ---- */

static char* read_all(const char* name, uint64_t* bytes) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", EXAMPLE, name);
  FILE* file = fopen(path, "rb");
  assert_non_null(file);
  char* data = malloc(1 << 16);
  *bytes = fread(data, 1, 1 << 16, file);
  fclose(file);
  return data;
}

/* The example's two rungs in structs; everything in them is freed by free_program. */
struct in_memory {
  anelane_program program;
  anelane_program_rung rungs[2];
  anelane_layer layers[2][3];
  anelane_connection connect[2];
};

static struct in_memory* make_program(void) {
  struct in_memory* p = calloc(1, sizeof *p);
  uint64_t up_bytes, down_bytes;
  char *up = read_all("up.bin", &up_bytes), *down = read_all("down.bin", &down_bytes);
  const uint32_t widths[] = {64, 128};
  const char* stems[] = {"up", "activate", "down"};
  p->connect[0] = (anelane_connection){"hidden", "g"};
  p->connect[1] = (anelane_connection){"skip", "0.h"};
  for (int r = 0; r < 2; r++) {
    for (int i = 0; i < 3; i++) {
      char name[32];
      snprintf(name, sizeof name, "%s_%u.mil", stems[i], widths[r]);
      p->layers[r][i].mil = read_all(name, &p->layers[r][i].mil_bytes);
    }
    p->layers[r][0].weights = up;
    p->layers[r][0].weight_bytes = up_bytes;
    p->layers[r][2].weights = down;
    p->layers[r][2].weight_bytes = down_bytes;
    p->layers[r][2].connect = p->connect;
    p->layers[r][2].connect_count = 2;
    p->rungs[r] = (anelane_program_rung){widths[r], 3, p->layers[r]};
  }
  p->program = (anelane_program){.struct_size = sizeof p->program, .rung_count = 2, .rungs = p->rungs};
  return p;
}

static void free_program(struct in_memory* p) {
  free((void*)p->layers[0][0].weights);
  free((void*)p->layers[0][2].weights);
  for (int r = 0; r < 2; r++)
    for (int i = 0; i < 3; i++) free((void*)p->layers[r][i].mil);
  memset(p, 0xa5, sizeof *p);
  free(p);
}

static void from_memory_it_gives_the_same_bits_and_survives_a_crash(void** state) {
  anelane_error err = NEW_ERROR();
  (void)state;
  struct result files[2], memory;
  run_once(model, 64, &files[0]);
  run_once(model, 128, &files[1]);
  char* own = make_folder(); /* a lane of its own, so that there is one worker to kill */
  anelane_lane_options options = options_in(own);
  anelane_lane other;
  assert_status(ANELANE_OK, anelane_lane_open(&options, in_ms(BOUND_MS), &other, &err), &err);
  pid_t before[16], after[16];
  const size_t children = children_of_self(before, 16);
  struct in_memory* p = make_program();
  anelane_model_options named;
  anelane_model_options_init(&named, sizeof named);
  named.name = "mine";
  anelane_model mine;
  assert_status(ANELANE_OK,
                anelane_model_load_program(other, &p->program, &named, in_ms(BOUND_MS), &mine, &err), &err);
  free_program(p); /* copied before the return */
  for (int round = 0; round < 2; round++) {
    run_once(mine, 64, &memory);
    assert_memory_equal(&memory, &files[0], sizeof memory);
    run_once(mine, 128, &memory);
    assert_memory_equal(&memory, &files[1], sizeof memory);
    if (round == 1) break;
    const size_t now = children_of_self(after, 16);
    for (size_t i = 0; i < now; i++) {
      bool old = false;
      for (size_t k = 0; k < children; k++) old |= after[i] == before[k];
      if (!old) kill(after[i], SIGKILL);
    }
    anelane_lane_stats stats = {.struct_size = sizeof stats};
    const uint64_t bound = in_ms(BOUND_MS);
    while (stats.restarts == 0 && anelane_now_ns() < bound) {
      anelane_lease lease;
      if (anelane_lease_acquire(mine, 64, in_ms(BOUND_MS), &lease, &err) == ANELANE_OK)
        anelane_lease_release(lease);
      nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
      assert_status(ANELANE_OK, anelane_lane_get_stats(other, &stats, &err), &err);
    }
    assert_int_equal(stats.restarts, 1);
  }
  anelane_model_info info = {.struct_size = sizeof info};
  assert_status(ANELANE_OK, anelane_model_get_info(mine, &info, &err), &err);
  assert_int_equal(info.kind, ANELANE_PROGRAM);
  close_lane(other);
  remove_folder(own);
}

static void wrong_structs_are_refused(void** state) {
  anelane_error err = NEW_ERROR();
  anelane_model none = {0};
  struct in_memory* p = make_program();
  const struct in_memory good = *p;
  (void)state;
#define REFUSED_AS(code, says)                                                                               \
  do {                                                                                                       \
    assert_status((code), anelane_model_load_program(lane, &p->program, NULL, in_ms(BOUND_MS), &none, &err), \
                  &err);                                                                                     \
    assert_says(&err, says);                                                                                 \
    *p = good;                                                                                               \
  } while (0)
  p->program.struct_size = 4;
  REFUSED_AS(ANELANE_INVALID_ARGUMENT, "struct_size");
  p->program.rung_count = 0;
  REFUSED_AS(ANELANE_INVALID_ARGUMENT, "rung_count");
  p->program.rung_count = 17;
  REFUSED_AS(ANELANE_INVALID_ARGUMENT, "rung_count");
  p->program.rungs = NULL;
  REFUSED_AS(ANELANE_INVALID_ARGUMENT, "rung_count");
  p->program.reserved[1] = 1;
  REFUSED_AS(ANELANE_INVALID_ARGUMENT, "reserved");
  p->rungs[1].shape = 64;
  REFUSED_AS(ANELANE_INVALID_ARGUMENT, "rung 64 is given twice");
  p->rungs[0].shape = 0;
  REFUSED_AS(ANELANE_INVALID_ARGUMENT, "rung 0: a shape is a whole number from 1 to 1073741824");
  p->rungs[1].shape = (1u << 30) + 1;
  REFUSED_AS(ANELANE_INVALID_ARGUMENT, "rung 1073741825");
  p->rungs[0].layer_count = 0;
  REFUSED_AS(ANELANE_INVALID_ARGUMENT, "rung 64");
  p->rungs[0].layer_count = 513;
  REFUSED_AS(ANELANE_INVALID_ARGUMENT, "512");
  p->rungs[0].layers = NULL;
  REFUSED_AS(ANELANE_INVALID_ARGUMENT, "rung 64");
  p->layers[0][1].mil = NULL;
  REFUSED_AS(ANELANE_INVALID_ARGUMENT, "rung_64_layer_1: mil must not be NULL");
  p->layers[0][1].weight_bytes = 9;
  REFUSED_AS(ANELANE_INVALID_ARGUMENT, "rung_64_layer_1: weights must not be NULL");
  p->layers[0][1].reserved = 1;
  REFUSED_AS(ANELANE_INVALID_ARGUMENT, "reserved");
  p->layers[0][1].connect_count = 1;
  REFUSED_AS(ANELANE_INVALID_ARGUMENT, "connect must not be NULL");
  p->connect[1].output = NULL;
  REFUSED_AS(ANELANE_INVALID_ARGUMENT, "connect must not be NULL");
  p->connect[1].input = "hidden";
  REFUSED_AS(ANELANE_INVALID_ARGUMENT, "\"hidden\" is named twice");
  p->connect[1].output = "1.h";
  REFUSED_AS(ANELANE_MODEL_INVALID, "which no earlier layer gives");
  p->layers[1][1].mil_bytes = 40;
  REFUSED_AS(ANELANE_MODEL_INVALID, "(memory)/rung_128_layer_1.mil: InvalidMILProgram: line 2");
  p->layers[0][0].weight_bytes = 100;
  REFUSED_AS(ANELANE_COMPILE_FAILED, "layer 0 (rung_64_layer_0.mil)");
  p->layers[0][0].weight_bytes = UINT64_C(1) << 40; /* nothing of it is read */
  REFUSED_AS(ANELANE_INVALID_ARGUMENT, "keep weights of that size in files");
  assert_status(ANELANE_INVALID_ARGUMENT, anelane_model_load_program(lane, NULL, NULL, 0, &none, &err), &err);
  assert_status(ANELANE_INVALID_ARGUMENT, anelane_model_load_program(lane, &p->program, NULL, 0, NULL, &err),
                &err);
  assert_int_equal(none.bits, 0);
  free_program(p);
}

static void a_program_can_be_checked_without_a_lane(void** state) {
  anelane_error err = NEW_ERROR();
  char text[4096];
  size_t length = 0;
  (void)state;
  assert_status(ANELANE_OK,
                anelane_mil_check(EXAMPLE "/up_64.mil", EXAMPLE "/up.bin", text, sizeof text, &length, &err),
                &err);
  assert_int_equal(strlen(text), length);
  assert_non_null(strstr(text, "\"error\":null"));
  assert_non_null(strstr(text, "\"name\":\"h\""));
  assert_status(ANELANE_OK, anelane_mil_check(EXAMPLE "/up_64.mil", NULL, text, 10, &length, &err), &err);
  assert_int_equal(strlen(text), 9);
  assert_true(length > 9);
  assert_status(ANELANE_IO, anelane_mil_check("/no/such.mil", NULL, text, sizeof text, &length, &err), &err);
  assert_status(ANELANE_INVALID_ARGUMENT, anelane_mil_check(NULL, NULL, text, 1, NULL, &err), &err);
  assert_status(ANELANE_INVALID_ARGUMENT, anelane_mil_check("x", NULL, NULL, 1, NULL, &err), &err);
}

static void a_chain_longer_than_the_budget_is_refused(void** state) {
  anelane_error err = NEW_ERROR();
  anelane_model none;
  char* manifest = malloc(64 * 110 + 100);
  size_t at = (size_t)sprintf(manifest, "{\"format\": 1, \"rungs\": {\"64\": [{\"mil\": \"a.mil\"}");
  (void)state;
  for (int i = 0; i < 100; i++)
    at += (size_t)sprintf(manifest + at, ", {\"mil\": \"a.mil\", \"connect\": {\"a\": \"y\"}}");
  sprintf(manifest + at, "]}}");
  const char* path = write_model("long", manifest, RELU(64));
  assert_status(ANELANE_RESOURCES_EXHAUSTED,
                anelane_model_load(lane, path, NULL, in_ms(BOUND_MS), &none, &err), &err);
  assert_int_equal(err.error_class, ANELANE_PERMANENT);
  assert_int_equal(err.limit, 100);
  free(manifest);
}

static void a_second_process_finds_everything_compiled(void** state) {
  anelane_error err = NEW_ERROR();
  anelane_model_info info = {.struct_size = sizeof info};
  (void)state;
  const anelane_model again = load_into(lane, EXAMPLE); /* a worker of its own */
  assert_status(ANELANE_OK, anelane_model_get_info(again, &info, &err), &err);
  assert_int_equal(info.cached_rungs, 3);
  struct result first, second;
  run_once(model, 128, &first);
  run_once(again, 128, &second);
  assert_memory_equal(&first, &second, sizeof first);
  assert_status(ANELANE_OK, anelane_model_retire(again, in_ms(BOUND_MS), &err), &err);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_model_says_what_it_is),
      cmocka_unit_test(ports_are_those_of_the_width_by_name),
      cmocka_unit_test(both_widths_run_and_the_outputs_agree),
      cmocka_unit_test(mapped_and_asynchronous_runs_give_the_same_bits),
      cmocka_unit_test(wrong_tensors_are_refused_by_name),
      cmocka_unit_test(texts_and_tokens_are_refused),
      cmocka_unit_test(a_second_process_finds_everything_compiled),
      cmocka_unit_test(after_a_crash_the_programs_are_loaded_again),
      cmocka_unit_test(a_single_program_with_two_inputs_runs),
      cmocka_unit_test(a_started_load_reads_nothing_before_it_returns),
      cmocka_unit_test(files_that_changed_since_the_load_are_refused_for_good),
      cmocka_unit_test(what_cannot_be_served_is_refused_with_its_place),
      cmocka_unit_test(a_chain_longer_than_the_budget_is_refused),
      cmocka_unit_test(from_memory_it_gives_the_same_bits_and_survives_a_crash),
      cmocka_unit_test(wrong_structs_are_refused),
      cmocka_unit_test(a_program_can_be_checked_without_a_lane),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
