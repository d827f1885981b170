// MNIST, Fashion-MNIST and EMNIST: IDX files, plain or compressed. The labels of
// NAME-images-idx3-ubyte are in NAME-labels-idx1-ubyte in the same folder. EMNIST stores its images
// transposed; they stay transposed, as in torchvision.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "data/source/arrays/stored_array.h"
#include "data/source/format.h"

namespace tundish {

// Reads type and place of an IDX file's array. `first`: the first bytes of the file, 260 or all.
std::optional<Fault> read_idx_layout(ArrayLayout& out, std::size_t& data, Bytes first);

bool looks_like_idx(const Probe& probe);  // also matches a folder of MNIST or EMNIST

// Opens a file, or the training set of a folder. Throws Error.
std::shared_ptr<const Source> open_idx(const std::string& path, const SourceOptions& options);

}  // namespace tundish
