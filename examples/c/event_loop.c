/* Embeddings without blocking, for programs with an event loop of their own: operations are started, the loop
 * polls a descriptor beside its others, and takes the ends from a queue.
 *
 *     event_loop MODEL_DIR
 *
 * With a callback instead of NULL, the end comes on a thread of the library, and needs no descriptor.
 */
#include <anelane.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

static const char* const texts[] = {"The first text.", "Another one, a little longer than the first.",
                                    "A third."};
enum { COUNT = sizeof texts / sizeof texts[0] };
#define MINUTE_NS UINT64_C(60000000000)

static void check(anelane_status status, const anelane_error* error) {
  char text[1024];
  if (status == ANELANE_OK) return;
  anelane_error_text(error, text, sizeof text);
  fprintf(stderr, "event_loop: %s\n", text);
  exit(1);
}

/* One operation has ended; `user` is what was given when it started. */
static void on_end(anelane_op op, const char* user) {
  anelane_error error = {.struct_size = sizeof error};
  const float* vectors;
  size_t rows, dim;
  check(anelane_op_wait(op, 0, &error), &error); /* its own status; waits for nothing */
  check(anelane_op_floats(op, &vectors, &rows, &dim, &error), &error);
  printf("%zu numbers, the first % .4f: %s\n", rows * dim, (double)vectors[0], user);
  anelane_op_release(op); /* and with it the vectors */
}

int main(int argc, char** argv) {
  anelane_error error = {.struct_size = sizeof error};
  anelane_lane lane;
  anelane_model model;
  anelane_op op;
  void* user;
  int fd, ended = 0;
  if (argc != 2) {
    fprintf(stderr, "usage: event_loop MODEL_DIR\n");
    return 2;
  }
  check(anelane_lane_open(NULL, anelane_now_ns() + MINUTE_NS, &lane, &error), &error);
  check(anelane_model_load(lane, argv[1], NULL, ANELANE_NO_DEADLINE, &model, &error), &error);
  check(anelane_lane_event_fd(lane, &fd, &error), &error);
  for (int i = 0; i < COUNT; i++)
    check(anelane_start_embed_texts(model, &texts[i], 1, anelane_now_ns() + 10 * MINUTE_NS, NULL,
                                    (void*)texts[i], &op, &error),
          &error);
  while (ended < COUNT) {
    struct pollfd watched = {.fd = fd, .events = POLLIN};
    poll(&watched, 1, -1); /* the loop's other descriptors stand here too */
    while (anelane_lane_next_completion(lane, &op, &user, &error) == ANELANE_OK) {
      on_end(op, user);
      ended++;
    }
  }
  check(anelane_lane_close(lane, ANELANE_NO_DEADLINE, &error), &error);
  return 0;
}
