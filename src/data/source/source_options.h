// Options of a user for opening a dataset; most need none. Defined once in
// base/fields.h, from which the program's options and Python's tundish.DataSource follow.
#pragma once

#include <cstdint>
#include <string>

#include "base/fields.h"

namespace tundish {

struct SourceOptions {
  static constexpr const char* kName = "DataSource";
  static constexpr const char* kAbout = "A dataset and what cannot be seen from its bytes.";
  std::string format;  // a name from data/source/format.h; empty: detect
  std::string image;   // array, feature or column; empty: detect by name
  std::string label;
  std::int64_t axis = 0;  // sample axis of the arrays; -1 is the last
  bool operator==(const SourceOptions&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(FieldInfo{.name = "format",
                    .about = "the format, where the bytes do not say it: tfrecord, hdf5, ..."},
          self.format);
    visit(FieldInfo{.name = "image",
                    .about = "name of the array, feature or column that is the image"},
          self.image);
    visit(FieldInfo{.name = "label", .about = "name of the one that is the label"}, self.label);
    visit(FieldInfo{.name = "axis",
                    .about = "axis of the arrays that counts the samples; -1 is the last",
                    .low = -64,
                    .high = 63},
          self.axis);
  }
};

}  // namespace tundish
