// CIFAR-10 and CIFAR-100, the binary version: records of one or two label bytes and 3 x 32 x 32
// pixels, red first. Class names are in batches.meta.txt or fine_label_names.txt beside them.
#pragma once

#include <memory>
#include <string>

#include "data/source/arrays/stored_array_source.h"
#include "data/source/format.h"

namespace tundish {

// A folder with files of the training set or the test set; a .bin file of whole records, or with
// the name of one of CIFAR-10.
bool looks_like_cifar(const Probe& probe);

// The arrays image, label and, of CIFAR-100, coarse_label. Fault: no whole number of records.
std::optional<Fault> read_cifar(std::vector<StoredArray>& out, const SharedStore& store,
                                bool hundred);

// A file, or a folder, of which the training set is opened. Throws Error.
std::shared_ptr<const Source> open_cifar(const std::string& path, const SourceOptions& options);

}  // namespace tundish
