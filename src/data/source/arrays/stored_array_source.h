// Arrays with one entry per sample as a Source: which of them is the image, which the label, and
// what the others are.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/source/arrays/stored_array.h"
#include "data/source/source.h"
#include "data/source/source_options.h"

namespace tundish {

// Files with more arrays are refused.
inline constexpr std::size_t kMaxArrays = 10'000;

// Names of the classes that the numbers of an array stand for.
struct ClassNames {
  std::string array;
  std::vector<std::string> names;
  std::string from;  // the file that has them, for messages
};

// What a format found in its files.
struct ArraySet {
  std::string path;                        // as the user gave it
  const char* format = "";                 // "NumPy .npz": for messages
  const char* provenance = "";             // Schema::source
  std::vector<StoredArray> arrays = {};    // names differ
  std::vector<ClassNames> classes = {};    // those of the label's array become Schema::classes
  std::vector<std::string> warnings = {};  // without the path
  std::uint64_t memory_left = kMaxUnpackedBytes;
};

// The image is the array that options.image names, or one with a usual name (field_names.h), or the
// only one that has the shape of pictures. It decides how many samples there are; arrays of another
// length are left out with a warning. The label is read at once, all other arrays when a sample is.
//   image: uint8 (H, W), (H, W, C) or (C, H, W) of 1, 3 or 4 channels, or uint16 (H, W)
//   label: whole numbers, one per sample
//   number: other arrays with one element per sample, as doubles
//   array: all others
// A number without a name in an array whose classes have names is a damaged record.
// Throws Error: field_unclear, source_empty, source_damaged, label_unreadable, format_unsupported.
std::shared_ptr<const Source> open_stored_arrays(ArraySet set, const SourceOptions& options);

}  // namespace tundish
