// NumPy's arrays in pickles.
#pragma once

#include <optional>

#include "data/source/arrays/stored_array.h"
#include "data/source/pickle/pickle.h"

namespace tundish {

struct PickledArray {
  ArrayLayout layout;
  PickleValue bytes;  // as many as the layout has
};

// Empty for other values, and for arrays of types that are not plain.
std::optional<PickledArray> read_numpy(const Pickle& pickle, const PickleValue& value);

// An integer, a boolean, or NumPy's scalar of such a type.
std::optional<std::int64_t> read_integer(const Pickle& pickle, const PickleValue& value);

// A tuple or list of integers that are not negative.
std::optional<std::vector<std::uint64_t>> read_sides(const Pickle& pickle,
                                                     const PickleValue& value);

}  // namespace tundish
