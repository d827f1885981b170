// CIFAR-10 and CIFAR-100, the Python version: pickled dicts with an array of pixels (3,072 bytes
// per sample) and lists of labels.
#pragma once

#include <memory>
#include <string>

#include "data/source/arrays/stored_array_source.h"
#include "data/source/format.h"

namespace tundish {

// Matches a folder with data_batch_1, ..., test_batch, train or test that also has batches.meta or
// meta, or whose file begins as a pickle; also a file with one of these names.
bool looks_like_cifar_pickle(const Probe& probe);

// Opens a file, or the training set of a folder. Throws Error.
std::shared_ptr<const Source> open_cifar_pickle(const std::string& path,
                                                const SourceOptions& options);

// Appends the images and labels of one batch. Accepts any bytes, at most 256 MiB; `store` holds the
// same bytes and is read later. Throws Error: source_damaged,
// format_unsupported.
void add_cifar_batch(ArraySet& set, Bytes pickle, const SharedStore& store);

}  // namespace tundish
