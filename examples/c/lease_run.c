/* Runs the layers of a model on activations of one's own: a lease pins a shape, its ports are mapped into
 * memory shared with the worker, so nothing is copied, and each run is one exchange.
 *
 *     lease_run MODEL_DIR
 *
 * For programs that bring their own embedding table or pooling; sentences go through anelane_embed_texts.
 */
#include <anelane.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SHAPE = 128, TOKENS = 5, X = 0, MASK = 1, Y = 2 }; /* the ports: see anelane_model_ports */
#define MINUTE_NS UINT64_C(60000000000)
#define HALF_ONE 0x3c00         /* 1.0 in IEEE half precision */
#define HALF_MINUS_10000 0xf0e2 /* what the mask says of padding */

static void check(anelane_status status, const anelane_error* error) {
  char text[1024];
  if (status == ANELANE_OK) return;
  anelane_error_text(error, text, sizeof text);
  fprintf(stderr, "lease_run: %s\n", text);
  exit(1);
}

static double from_half(uint16_t half) {
  const double sign = half & 0x8000 ? -1 : 1, fraction = half & 0x3ff;
  const int exponent = half >> 10 & 31;
  return sign * (exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25));
}

/* The element of a [1, channels, 1, tokens] port; strides are bytes. */
static uint16_t* at(const anelane_tensor* tensor, const anelane_port* port, uint64_t channel,
                    uint64_t token) {
  return (uint16_t*)((char*)tensor->data + channel * port->strides[1] + token * port->strides[3]);
}

int main(int argc, char** argv) {
  anelane_error error = {.struct_size = sizeof error};
  anelane_port ports[3] = {
      {.struct_size = sizeof ports[0]}, {.struct_size = sizeof ports[0]}, {.struct_size = sizeof ports[0]}};
  anelane_tensor mapped[3], inputs[2] = {{.port = X}, {.port = MASK}}, output = {.port = Y};
  anelane_lane lane;
  anelane_model model;
  anelane_lease lease;
  size_t count;
  if (argc != 2) {
    fprintf(stderr, "usage: lease_run MODEL_DIR\n");
    return 2;
  }
  check(anelane_lane_open(NULL, anelane_now_ns() + MINUTE_NS, &lane, &error), &error);
  check(anelane_model_load(lane, argv[1], NULL, ANELANE_NO_DEADLINE, &model, &error), &error);
  check(anelane_model_ports(model, SHAPE, ports, 3, &count, &error), &error);
  /* Compiles the shape if it must; from here on it stays until the lease is released. */
  check(anelane_lease_acquire(model, SHAPE, ANELANE_NO_DEADLINE, &lease, &error), &error);
  for (uint32_t i = 0; i < 3; i++) check(anelane_lease_map(lease, i, &mapped[i], &error), &error);

  /* TOKENS tokens, the rest is padding. Token t has a 1 in the channels t, t + 8, t + 16, … */
  for (uint64_t t = 0; t < SHAPE; t++) {
    for (uint64_t c = 0; c < ports[X].dims[1]; c++)
      *at(&mapped[X], &ports[X], c, t) = t < TOKENS && c % 8 == t ? HALF_ONE : 0;
    *at(&mapped[MASK], &ports[MASK], 0, t) = t < TOKENS ? 0 : HALF_MINUS_10000;
  }
  /* data NULL: the bytes are, and shall stay, in the mapped ports. */
  const uint64_t start = anelane_now_ns();
  check(anelane_run(lease, inputs, 2, &output, 1, start + MINUTE_NS, &error), &error);
  const double ms = (double)(anelane_now_ns() - start) / 1e6;

  printf("%llu channels of %d tokens through the layers in %.1f ms\n", (unsigned long long)ports[Y].dims[1],
         TOKENS, ms);
  for (uint64_t t = 0; t < TOKENS; t++) {
    printf("token %llu:", (unsigned long long)t);
    for (uint64_t c = 0; c < 6; c++) printf(" % .4f", from_half(*at(&mapped[Y], &ports[Y], c, t)));
    printf(" …\n");
  }
  anelane_lease_release(lease);
  check(anelane_lane_close(lane, ANELANE_NO_DEADLINE, &error), &error);
  return 0;
}
