// One encoder layer of BERT as a program for the engine.
#pragma once
#include "ane_direct/mil_dialect.h"
#include "ane_direct/program.h"
#include "models/bert_tensors.h"

namespace anelane {

// Inputs a00_x [1, width, 1, tokens] and a01_mask [1, 1, 1, tokens], output z00_y like a00_x. The same
// arguments give the same bytes (L8.1). `tokens` is a multiple of 32. Another dialect is another text with
// the same weights and the same results.
Result<Program> write_bert_layer(const BertConfig& config, const BertLayerTensors& tensors, uint32_t tokens,
                                 MilDialect dialect);

}  // namespace anelane
