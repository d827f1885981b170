// NumPy arrays in pickles.
#pragma once

#include <optional>

#include "data/source/arrays/stored_array.h"
#include "data/source/pickle/pickle.h"

namespace tundish {

struct PickledArray {
  ArrayLayout layout;
  PickleValue bytes;  // the elements, with the size of the layout
};

// Returns empty for other values, and for arrays of structured types.
std::optional<PickledArray> read_numpy(const Pickle& pickle, const PickleValue& value);

// Returns an integer or a boolean; also accepts NumPy scalars of these types.
std::optional<std::int64_t> read_integer(const Pickle& pickle, const PickleValue& value);

// Returns a tuple or list of nonnegative integers.
std::optional<std::vector<std::uint64_t>> read_sides(const Pickle& pickle,
                                                     const PickleValue& value);

}  // namespace tundish
