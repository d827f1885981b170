// Writes an HDF5 file: a data set for each field, one entry per sample.
#pragma once

#include "rewrite/convert/target_writer.h"

namespace tundish {

// Data sets: image, label, one for each other field, key, and classes (their names). Fields of one
// shape are arrays. Encoded images, bytes and arrays without a common shape (as .npy files) are
// variable-length byte strings; texts are strings. Throws Error(format_not_built) without libhdf5.
std::unique_ptr<TargetWriter> make_hdf5_writer(const Conversion& conversion);

}  // namespace tundish
