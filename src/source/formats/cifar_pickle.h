// CIFAR-10 and CIFAR-100, the Python version: pickled dicts with an array of pixels, of 3,072 bytes
// per sample, and lists of labels.
#pragma once

#include <memory>
#include <string>

#include "source/format.h"

namespace tundish {

// A folder with data_batch_1 and batches.meta, or train and meta; a file that is called as those.
bool looks_like_cifar_pickle(const Probe& probe);

// A file, or a folder, of which the training set is opened. Throws Error.
std::shared_ptr<const Source> open_cifar_pickle(const std::string& path,
                                                const SourceOptions& options);

}  // namespace tundish
