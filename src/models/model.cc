// Opens a model's folder. program.json: the caller's own programs. Else it is a checkpoint, of which one
// architecture family is known so far; config.json decides.
#include "models/model.h"

#include <sys/stat.h>

#include <cerrno>

#include "base/file.h"
#include "base/limits.h"
#include "models/bert_model.h"
#include "models/folder_name.h"
#include "models/program_manifest.h"
#include "models/program_model.h"

namespace anelane {
namespace {

Result<BertCheckpoint> read_checkpoint(const std::string& folder, const ModelOpenOptions& options) {
  if (!is_folder(folder))
    return error(Code::kIo, "cannot read " + folder + ": " +
                                (is_regular_file(folder) ? "it is a file" : "no such folder") +
                                "; the path must be a checkpoint folder with config.json and "
                                "model.safetensors, or a program folder "
                                "with program.json");
  struct stat st {};
  if (::stat(join_path(folder, "config.json").c_str(), &st) != 0 && errno == ENOENT)
    return error(Code::kIo, "there is no config.json in " + folder +
                                ": is this a Hugging Face checkpoint folder? It holds config.json, "
                                "model.safetensors and a tokenizer");
  ANELANE_ASSIGN(const JsonFields config,
                 JsonFields::read(join_path(folder, "config.json"), limits::kMaxConfigBytes));
  if (!is_regular_file(join_path(folder, "model.safetensors"))) {
    for (const char* other : {"model.safetensors.index.json", "pytorch_model.bin", "model.onnx"})
      if (is_regular_file(join_path(folder, other)))
        return error(Code::kModelUnsupported,
                     folder + ": found " + other +
                         ", but the weights must be one file, model.safetensors: convert them");
  }
  return read_bert_checkpoint(folder, config, options);
}

bool exists(const std::string& path) {
  struct stat st {};
  return ::stat(path.c_str(), &st) == 0;
}

// A folder that is both would be one to some users and the other to others.
Result<bool> is_program_folder(const std::string& folder) {
  if (!exists(join_path(folder, kManifestName))) return false;
  if (exists(join_path(folder, "config.json")))
    return error(Code::kModelInvalid, folder + " has both config.json and " + kManifestName +
                                          ": is it a checkpoint or a program? Remove one");
  return true;
}

}  // namespace

Status check_budget(const std::string& place, uint32_t layers, uint32_t budget) {
  if (budget == 0 || layers <= budget) return {};
  return error(Code::kResourcesExhausted, place + " needs " + std::to_string(layers) +
                                              " programs for one shape, the lane's budget is " +
                                              std::to_string(budget))
      .with_class(false)
      .with_retry_after(0)
      .with_limit(budget);
}

Result<std::shared_ptr<const Model>> open_model(const std::string& folder, const ModelOpenOptions& options) {
  ANELANE_ASSIGN(const bool program, is_program_folder(folder));
  if (program) return open_program_model(*program_folder(folder), folder_name(folder), options);
  ANELANE_ASSIGN(BertCheckpoint checkpoint, read_checkpoint(folder, options));
  return open_bert_model(folder, std::move(checkpoint));
}

Result<ModelSummary> inspect_model(const std::string& folder, const ModelOpenOptions& options) {
  ANELANE_ASSIGN(const bool program, is_program_folder(folder));
  if (program) return inspect_program_model(*program_folder(folder), folder_name(folder), options);
  ANELANE_ASSIGN(BertCheckpoint checkpoint, read_checkpoint(folder, options));
  return std::move(checkpoint.summary);
}

}  // namespace anelane
