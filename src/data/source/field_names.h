// Which of several named arrays, features or columns is the image, and which the label.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/array_type.h"
#include "base/error.h"

namespace tundish {

enum class FieldRole : std::uint8_t { image, label };

struct FieldCandidate {
  std::string name;
  bool fits = true;  // its type allows the role: pixels or coded bytes; whole numbers
};

// The number of the candidate with this role in `out`; -1 when none has it.
//
// `wanted` is what the user asked for (SourceOptions::image, label). It must be there and fit.
// When `wanted` is empty, the candidate that fits and has the usual name ("image", "img", "x", ...;
// "label", "y", "target", ...): compared without case, the whole name before the part after the
// last slash, usual names in the order of the table in field_names.cpp. When no name is usual, the
// only candidate that fits is the image; no candidate is the label.
//
// Faults: field_unclear, with the names that there are, when `wanted` is not there or does not fit,
// and when several candidates could be the image.
std::optional<Fault> choose_field(int& out, FieldRole role, const std::string& wanted,
                                  std::span<const FieldCandidate> candidates);

// For a source in which choose_field() found no label among these: why, and how to say which it is.
// Empty for arrays without an image and without any candidate: nobody expects labels there.
std::string no_label_warning(std::span<const FieldCandidate> candidates, bool has_image);

// For an array that is not the image, but has the shape of pictures and elements that pictures do
// not have: what it is. Empty for any other array. `type` is that of one sample.
std::string float_picture_warning(const std::string& name, const ArrayType& type);

}  // namespace tundish
