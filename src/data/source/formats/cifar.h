// CIFAR-10 and CIFAR-100, the binary version: records of one or two label bytes and 3 x 32 x 32
// pixels, red first. The same folder has class names in batches.meta.txt or fine_label_names.txt.
#pragma once

#include <memory>
#include <string>

#include "data/source/arrays/stored_array_source.h"
#include "data/source/format.h"

namespace tundish {

// Matches a folder with files of the training or test set, and a .bin file of whole records or with
// a name used by CIFAR-10.
bool looks_like_cifar(const Probe& probe);

// Gets the arrays image, label and, for CIFAR-100, coarse_label. Fault: no whole number of records.
std::optional<Fault> read_cifar(std::vector<StoredArray>& out, const SharedStore& store,
                                bool hundred);

// Opens a file, or the training set of a folder. Throws Error.
std::shared_ptr<const Source> open_cifar(const std::string& path, const SourceOptions& options);

}  // namespace tundish
