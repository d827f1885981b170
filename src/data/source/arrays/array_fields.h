// Which array of a set is which field of the samples.
#pragma once

#include "data/source/arrays/stored_array_source.h"

namespace tundish {

struct ArrayFields {
  Schema schema;
  std::vector<StoredArray> arrays;  // by field number
  std::uint64_t count = 0;
};

// As stored_array_source.h says; may add warnings to the set, and takes its arrays. Throws Error.
ArrayFields choose_array_fields(ArraySet& set, const SourceOptions& options);

// A number of any element type, as it lies in memory (little-endian).
double element_as_double(ArrayElement element, const std::byte* from);
// Of integers and bool; empty over the range of 64 bits with a sign.
std::optional<std::int64_t> element_as_integer(ArrayElement element, const std::byte* from);
bool is_integer(ArrayElement element);  // and bool

}  // namespace tundish
