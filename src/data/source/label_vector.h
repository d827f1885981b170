// Labels that are vectors: a number for each class, from the columns "label:NAME" of a list.
//
// Every sample has its vector in the array field "label": a .npy file of float32 whose shape is
// (classes). A pack stores that field as any other.
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

// Number of that field; -1 when labels are no vectors: no array field has the name, or there are no
// names of classes.
int label_vector_field(const Schema& schema);

// As NumPy writes it.
std::vector<std::byte> label_vector_npy(std::span<const float> vector);
std::size_t label_vector_bytes(std::size_t classes);

// Any bytes. Faults: label_unreadable when they are not what label_vector_npy() gives for so many
// finite numbers.
std::optional<Fault> read_label_vector(std::span<float> out, Bytes npy);

}  // namespace tundish
