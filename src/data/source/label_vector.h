// Labels that are vectors: one number per class, from the columns "label:NAME" of a list.
//
// Every sample stores its vector in the array field "label": a .npy file of float32 with shape
// (classes). A pack stores this field like any other.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "data/source/source.h"

namespace tundish {

inline constexpr const char* kLabelVectorField = "label";

// Returns the number of the field; -1 if labels are not vectors because no array field has the name
// or there are no class names.
int label_vector_field(const Schema& schema);

// Formats the vector as NumPy does.
std::vector<std::byte> label_vector_npy(std::span<const float> vector);
std::size_t label_vector_bytes(std::size_t classes);

// Accepts any bytes. Faults: label_unreadable unless the bytes are what label_vector_npy() returns
// for out.size() finite numbers.
std::optional<Fault> read_label_vector(std::span<float> out, Bytes npy);

}  // namespace tundish
