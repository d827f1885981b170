// Assigns the arrays of a set to the fields of the samples.
#pragma once

#include "data/source/arrays/stored_array_source.h"

namespace tundish {

struct ArrayFields {
  Schema schema;
  std::vector<StoredArray> arrays;  // indexed by field number
  std::uint64_t count = 0;
};

// Follows stored_array_source.h; may add warnings to the set, and moves its arrays. Throws Error.
ArrayFields choose_array_fields(ArraySet& set, const SourceOptions& options);

// Returns a little-endian number of any element type.
double element_as_double(ArrayElement element, const std::byte* from);
// Supports integers and bool; empty if the value exceeds the signed 64-bit range.
std::optional<std::int64_t> element_as_integer(ArrayElement element, const std::byte* from);
bool is_integer(ArrayElement element);  // also true for bool

}  // namespace tundish
