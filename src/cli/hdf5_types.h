// Element types of HDF5 datasets, as libhdf5 describes them.
#pragma once

#include <hdf5.h>

#include <optional>
#include <string>

#include "base/array_type.h"

namespace tundish::cli {

struct Hdf5Element {
  std::optional<ArrayElement> element = {};
  std::string reason = {};  // why the type cannot be read
};

// Maps types as h5py does: enumerations to integers, except FALSE = 0 and TRUE = 1. Only integers
// without unused bits, IEEE 754 floats and bfloat16 have an element.
Hdf5Element element_of(hid_t type);

bool is_byte_strings(hid_t type);  // variable-length
bool is_texts(hid_t type);         // variable-length

}  // namespace tundish::cli
