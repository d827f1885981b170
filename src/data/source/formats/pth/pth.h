// Tensors that torch.save() wrote, as a source: pth_columns.h says which of them are samples.
#pragma once

#include <memory>
#include <string>

#include "data/source/format.h"

namespace tundish {

bool looks_like_pth(const Probe& probe);

// Throws Error.
std::shared_ptr<const Source> open_pth(const std::string& path, const SourceOptions& options);

}  // namespace tundish
