// A dataset of named arrays whose samples are along one axis: N5, Zarr, HDF5.
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
  std::string name;  // "train/image"; for a single array, the name of its folder or file
  std::shared_ptr<const ChunkedArray> array;
  // Set for an array of references to byte strings: replaces a sample by the referenced bytes. Any
  // thread; throws Error. The sample axis is 0.
  std::function<void(std::vector<std::byte>& bytes)> resolve = {};
  bool names_classes = false;                   // byte strings that name class 0, 1, ...; no field
  std::uint64_t max_samples = kMaxGridSamples;  // an array with more is omitted with a warning
  // Chunks of labels that may be missing, besides 16 for each chunk that exists: looking for the
  // file of a missing chunk takes microseconds, and a few bytes of metadata can claim millions.
  std::uint64_t max_missing_chunks = kMaxGridSamples;
};

// Chooses image and label by options, then by usual names (data/source/field_names.h). Every other
// array of the same length becomes a field; an array of another length is omitted with a warning.
// options.axis applies to every array with more than one axis. Reads the labels and the names of
// classes. `warnings`: warnings of the format, without the path. `times`: stamp of the file when it
// was opened; if empty, the stamp of all files below the folder is computed on demand. Throws
// Error: field_unclear, format_unsupported, label_unreadable,
// source_empty.
std::shared_ptr<const Source> open_chunked_arrays(const char* format, const std::string& path,
                                                  std::vector<NamedArray> arrays,
                                                  const SourceOptions& options,
                                                  const std::vector<std::string>& warnings = {},
                                                  const std::string& times = "");

}  // namespace tundish
