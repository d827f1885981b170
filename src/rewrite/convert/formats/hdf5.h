// An HDF5 file: a data set for each field, one entry per sample.
#pragma once

#include "rewrite/convert/target_writer.h"

namespace tundish {

// image, label, one for each other field, key, and classes (their names). Fields of one shape are
// arrays; encoded images, bytes and arrays without a common shape (as .npy files) are byte strings
// of variable length; texts are strings. Throws Error(format_not_built) without libhdf5.
std::unique_ptr<TargetWriter> make_hdf5_writer(const Conversion& conversion);

}  // namespace tundish
