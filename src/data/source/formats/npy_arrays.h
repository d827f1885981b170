// A .npy file of N samples. The labels of NAME.npy are in NAME_labels.npy, labels.npy, label.npy or
// y.npy in the same folder: the first existing file is used if it has N entries.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/source/format.h"

namespace tundish {

// Returns the files that may have the labels of a file NAME.npy, in the order in which they are
// tried.
std::vector<std::string> npy_label_files(const std::string& path);

bool looks_like_npy(const Probe& probe);

// Throws Error.
std::shared_ptr<const Source> open_npy(const std::string& path, const SourceOptions& options);

}  // namespace tundish
