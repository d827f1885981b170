// A data set of named arrays, whose samples lie along one axis: N5, Zarr, HDF5.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/source/chunks/chunked_array.h"
#include "data/source/source.h"
#include "data/source/source_options.h"

namespace tundish {

struct NamedArray {
  std::string name;  // "train/image"; of a single array the folder's or file's own name
  std::shared_ptr<const ChunkedArray> array;
  // Of byte strings, which the array only refers to: a sample of the array becomes its bytes. Any
  // thread; throws Error. The samples lie along axis 0.
  std::function<void(std::vector<std::byte>& bytes)> resolve = {};
  bool names_classes = false;  // byte strings that are no field: the name of class 0, 1, ...
  std::uint64_t max_samples = kMaxGridSamples;  // an array with more is left out with a warning
};

// Which array is the image and which the label: options, then usual names
// (data/source/field_names.h). Every other array of the same length is a field; one of another
// length is left out with a warning. options.axis counts in every array that has more than one
// axis. Reads the labels and the names of classes. `warnings`: what the format noticed, without the
// path. `times`: the stamp of the file when it was opened; empty: that of all files below the
// folder, when it is asked for. Throws Error: field_unclear, format_unsupported, label_unreadable,
// source_empty.
std::shared_ptr<const Source> open_chunked_arrays(const char* format, const std::string& path,
                                                  std::vector<NamedArray> arrays,
                                                  const SourceOptions& options,
                                                  const std::vector<std::string>& warnings = {},
                                                  const std::string& times = "");

}  // namespace tundish
