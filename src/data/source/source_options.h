// What a user may say about a data set when it is opened; most need none of it. Described once:
// base/fields.h. The program's options and Python's tundish.DataSource follow from it.
#pragma once

#include <cstdint>
#include <string>

#include "base/fields.h"

namespace tundish {

struct SourceOptions {
  static constexpr const char* kName = "DataSource";
  static constexpr const char* kAbout = "A data set and what cannot be seen from its bytes.";
  std::string format;  // as data/source/format.h names it; empty: by the bytes
  std::string image;   // array, feature or column; empty: the one that is called so
  std::string label;
  std::int64_t axis = 0;  // which axis of the arrays counts the samples; -1 is the last
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
