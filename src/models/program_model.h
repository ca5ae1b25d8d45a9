// A model made of its caller's own programs (program_manifest.h): each rung a chain of them.
#pragma once
#include "models/model.h"
#include "models/program_files.h"

namespace anelane {

// Manifest and MIL texts: ports and wiring of every rung. No weight file is read, and no operation is looked
// at.
Result<ModelSummary> inspect_program_model(const ProgramFiles& files, const std::string& name,
                                           const ModelOpenOptions& options);
// The same with weights and digest.
Result<std::shared_ptr<const Model>> open_program_model(const ProgramFiles& files, const std::string& name,
                                                        const ModelOpenOptions& options);

}  // namespace anelane
