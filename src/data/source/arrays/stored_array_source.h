// Serves arrays with one entry per sample as a Source. Chooses the image, the label and the types
// of the other fields.
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

// Names of the classes that the numbers of an array denote.
struct ClassNames {
  std::string array;
  std::vector<std::string> names;
  std::string from;  // file with the names, for messages
};

// Arrays and names that a format found in its files.
struct ArraySet {
  std::string path;                        // path as the user gave it
  const char* format = "";                 // "NumPy .npz": for messages
  const char* provenance = "";             // Schema::source
  std::vector<StoredArray> arrays = {};    // with distinct names
  std::vector<ClassNames> classes = {};    // classes of the label's array become Schema::classes
  std::vector<std::string> warnings = {};  // without the path
  std::uint64_t memory_left = kMaxUnpackedBytes;
};

// The image is the array named by options.image, or one with a usual name (field_names.h), or the
// only one with the shape of pictures. Its length is the number of samples; other arrays of another
// length are omitted with a warning. The label is read at once, other arrays on demand.
//   image: uint8 (H, W), (H, W, C) or (C, H, W) of 1, 3 or 4 channels, or uint16 (H, W)
//   label: whole numbers, one per sample
//   number: other arrays with one element per sample, as doubles
//   array: all others
// In an array with class names, a number without a name is a damaged record.
// Throws Error: field_unclear, source_empty, source_damaged, label_unreadable, format_unsupported.
std::shared_ptr<const Source> open_stored_arrays(ArraySet set, const SourceOptions& options);

}  // namespace tundish
