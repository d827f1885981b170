// A .npy file of N samples. The labels of NAME.npy are in NAME_labels.npy, labels.npy, label.npy or
// y.npy in the same folder: the first existing file is used if it has N entries.
#pragma once

#include <memory>
#include <string>

#include "data/source/format.h"

namespace tundish {

bool looks_like_npy(const Probe& probe);

// Throws Error.
std::shared_ptr<const Source> open_npy(const std::string& path, const SourceOptions& options);

}  // namespace tundish
