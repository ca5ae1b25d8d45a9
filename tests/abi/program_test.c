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
  assert_says(&err, "anelane_run");
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
  for (int i = 0; i < 200; i++) {
    anelane_lease lease;
    if (anelane_lease_acquire(model, 64, in_ms(BOUND_MS), &lease, &err) == ANELANE_OK) {
      anelane_lease_release(lease);
      if (only_child() != worker) break;
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
      cmocka_unit_test(what_cannot_be_served_is_refused_with_its_place),
      cmocka_unit_test(a_chain_longer_than_the_budget_is_refused),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
