// Chooses the image and the label among several named arrays, features or columns.
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
  bool fits = true;  // the type allows the role: pixels or encoded bytes; whole numbers
};

// Sets `out` to the number of the candidate with this role; -1 if none has it.
//
// `wanted` is the user's choice (SourceOptions::image, label). It must exist and fit.
// If `wanted` is empty, picks the candidate that fits and has a usual name ("image", "img", "x",
// ...; "label", "y", "target", ...). Comparison ignores case and tries the whole name before the
// part after the last slash, in the order of the table in field_names.cpp. If no name is usual, the
// only fitting candidate is the image, and no candidate is the label.
//
// Faults: field_unclear, with the existing names, if `wanted` does not exist or does not fit, or if
// several candidates could be the image.
std::optional<Fault> choose_field(int& out, FieldRole role, const std::string& wanted,
                                  std::span<const FieldCandidate> candidates);

// Explains why choose_field() found no label among these, and how to choose one. Empty for arrays
// without an image and without any candidate: nobody expects labels there.
std::string no_label_warning(std::span<const FieldCandidate> candidates, bool has_image);

// Describes an array that is not the image, but has the shape of pictures and elements that
// pictures do not have. Empty for any other array. `type` is the type of one sample.
std::string float_picture_warning(const std::string& name, const ArrayType& type);

}  // namespace tundish
