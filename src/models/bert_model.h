// BERT as the worker serves it: embeddings and pooling on the CPU, one program for each layer.
#pragma once
#include "models/bert_tensors.h"
#include "models/model.h"
#include "models/pooling.h"

namespace anelane {

// What is known of a checkpoint once its headers are read.
struct BertCheckpoint {
  BertConfig config;
  Pooling pooling;
  Safetensors file;
  BertTensors tensors;
  ModelSummary summary;  // without digest
  MilDialect dialect = MilDialect::kIos18;
};

Result<BertCheckpoint> read_bert_checkpoint(const std::string& folder, const JsonFields& config_file,
                                            const ModelOpenOptions& options);
// Reads every value as well: checks and digest.
Result<std::shared_ptr<const Model>> open_bert_model(const std::string& folder, BertCheckpoint checkpoint);

}  // namespace anelane
