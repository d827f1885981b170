// A source of tensors written by torch.save(); see pth_columns.h for how samples are found.
#pragma once

#include <memory>
#include <string>

#include "data/source/format.h"

namespace tundish {

bool looks_like_pth(const Probe& probe);

// Throws Error.
std::shared_ptr<const Source> open_pth(const std::string& path, const SourceOptions& options);

}  // namespace tundish
