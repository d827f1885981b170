// MNIST, Fashion-MNIST and EMNIST: IDX files, plain or compressed. NAME-images-idx3-ubyte has its
// labels in NAME-labels-idx1-ubyte beside it. EMNIST stores its images transposed; they stay so,
// as torchvision gives them.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "data/source/arrays/stored_array.h"
#include "data/source/format.h"

namespace tundish {

// The type and place of an IDX file's array. `first`: its first bytes, 260 or all.
std::optional<Fault> read_idx_layout(ArrayLayout& out, std::size_t& data, Bytes first);

bool looks_like_idx(const Probe& probe);  // also a folder of MNIST or EMNIST

// A file, or a folder, of which the training set is opened. Throws Error.
std::shared_ptr<const Source> open_idx(const std::string& path, const SourceOptions& options);

}  // namespace tundish
