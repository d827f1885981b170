// TFRecord files of tf.train.Example or SequenceExample: one file, or a folder of such files
// (train-00000-of-00010, ...), which are read as one dataset in name order.
//
// Opening reads a file once to find the places of its records, labels and sizes, and stores them
// beside the file. tf_layout.h assigns features to fields. A compressed file has no random access:
// it can be packed, but not used for training.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/source/format.h"

namespace tundish {

bool looks_like_tfrecord(const Probe& probe);

// Throws Error: source_damaged, format_unsupported, field_unclear, source_empty.
std::shared_ptr<const Source> open_tfrecord(const std::string& path, const SourceOptions& options);

// Opens several files as one dataset named `path`.
std::shared_ptr<const Source> open_tfrecords(const std::string& path,
                                             const std::vector<std::string>& files,
                                             const SourceOptions& options);

}  // namespace tundish
