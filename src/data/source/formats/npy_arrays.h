// A .npy file of N samples. NAME.npy has its labels in NAME_labels.npy, labels.npy, label.npy or
// y.npy beside it, the first of them that exists, when it has N entries.
#pragma once

#include <memory>
#include <string>

#include "data/source/format.h"

namespace tundish {

bool looks_like_npy(const Probe& probe);

// Throws Error.
std::shared_ptr<const Source> open_npy(const std::string& path, const SourceOptions& options);

}  // namespace tundish
