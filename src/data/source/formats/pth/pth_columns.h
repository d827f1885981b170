// Finds values of a torch.save() file, or of a pickle, that are arrays with one entry per sample.
#pragma once

#include "data/source/arrays/stored_array_source.h"
#include "data/source/formats/pth/pth_file.h"

namespace tundish {

// The array of a value, in place in the file: a tensor of torch or NumPy.
struct PlacedTensor {
  ArrayLayout layout;
  SharedStore store;
  std::uint64_t offset = 0;
};

bool is_tensor(const PthFile& file, const PickleValue& value);
// Fault: source_damaged, format_unsupported.
std::optional<Fault> find_tensor(PlacedTensor& out, PthFile& file, const PickleValue& value);

// Adds the arrays of the file to the set:
//   a tensor: image
//   a dict: every tensor or list of numbers by its key
//   a tuple, or a list [images, labels, ...]: image, label, field_2, ...
//   a list of equal tensors, of tuples or of dicts: one sample each
// Throws Error.
void add_columns(ArraySet& set, PthFile& file, std::int64_t axis);

}  // namespace tundish
