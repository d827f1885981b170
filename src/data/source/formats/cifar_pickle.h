// CIFAR-10 and CIFAR-100, the Python version: pickled dicts with an array of pixels, of 3,072 bytes
// per sample, and lists of labels.
#pragma once

#include <memory>
#include <string>

#include "data/source/arrays/stored_array_source.h"
#include "data/source/format.h"

namespace tundish {

// A folder with data_batch_1, ..., test_batch, train or test that has batches.meta or meta, or
// whose file begins as a pickle; a file that is called as those.
bool looks_like_cifar_pickle(const Probe& probe);

// A file, or a folder, of which the training set is opened. Throws Error.
std::shared_ptr<const Source> open_cifar_pickle(const std::string& path,
                                                const SourceOptions& options);

// The images and labels of one batch, after those of the batches before it. Any bytes, at most 256
// MiB; `store` holds the same bytes and is read later. Throws Error: source_damaged,
// format_unsupported.
void add_cifar_batch(ArraySet& set, Bytes pickle, const SharedStore& store);

}  // namespace tundish
