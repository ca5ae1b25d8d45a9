// The rare ends of the fast path: each asks the model's lane, under the core's lock, for something.
#include "lane/lease_fast_path.h"

#include "lane/lane.h"

namespace anelane::lease_events {

void first_after_quiet(ModelCore& core) {
  if (auto model = core.lock_model())
    model->lane->loop().post([model] { model->lane->driver().start_ticking(); });
}

void last_is_gone(ModelCore& core, uint32_t rung) {
  if (auto model = core.lock_model())
    model->lane->loop().post([model, rung] { model->lane->driver().released(model, rung); });
}

void bay_is_free(ModelCore& core, int32_t bay) {
  if (auto model = core.lock_model())
    if (auto stream = model->stream()) stream->return_bay(bay);
}

}  // namespace anelane::lease_events
