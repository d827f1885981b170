// torchvision ScaleJitter, RandomShortestSize and RandomResize: resizes to a random size.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "augment/plan.h"
#include "base/fields.h"
#include "base/fields_json.h"
#include "base/random.h"

namespace tundish {

// One length, or several from which one is drawn.
struct Sides {
  std::vector<int> values;
  bool operator==(const Sides&) const = default;
};
inline Json json_of(const Sides& sides) { return sides.values; }
inline bool read_json(Sides& to, const Json& from) {
  to.values.clear();
  return read_numbers(to.values, from) && !to.values.empty();
}
template <>
inline std::string wanted_text<Sides>(const FieldInfo& field) {
  return "a number of pixels, or a list of numbers," + range_text(field);
}

struct ScaleJitter {
  static constexpr const char* kName = "ScaleJitter";
  static constexpr const char* kAbout =
      "Scales the image to fit a target size times a random factor, with the aspect ratio kept.";

  std::array<int, 2> target_size = {};
  std::array<double, 2> scale_range = {0.1, 2.0};
  Filter interpolation = Filter::bilinear;
  bool operator==(const ScaleJitter&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(
        FieldInfo{"target_size", "(width, height) in pixels, in torchvision's order", 1, kMaxSide},
        self.target_size);
    visit(FieldInfo{"scale_range", "(min, max) of the factor", 0, 1e6}, self.scale_range);
    visit(FieldInfo{"interpolation", "how the image is resized"}, self.interpolation);
  }
  void check() const;

  // Like all plan() below, throws Error(argument) if a side would exceed kMaxPlannedSide.
  void plan(View& view, Random& random) const;
  bool makes_pixels() const { return true; }
  Size result_size(Size) const { return {}; }
};

struct RandomShortestSize {
  static constexpr const char* kName = "RandomShortestSize";
  static constexpr const char* kAbout =
      "Resizes the shorter side to one of several lengths, with the aspect ratio kept.";

  Sides min_size = {};
  std::optional<int> max_size = {};
  Filter interpolation = Filter::bilinear;
  bool operator==(const RandomShortestSize&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(FieldInfo{"min_size", "possible lengths of the shorter side; one is drawn", 1, kMaxSide},
          self.min_size);
    visit(FieldInfo{"max_size", "maximum length of the longer side", 1, kMaxSide}, self.max_size);
    visit(FieldInfo{"interpolation", "how the image is resized"}, self.interpolation);
  }
  void check() const;

  void plan(View& view, Random& random) const;
  bool makes_pixels() const { return true; }
  Size result_size(Size) const { return {}; }
};

struct RandomResize {
  static constexpr const char* kName = "RandomResize";
  static constexpr const char* kAbout =
      "Resizes the shorter side to a random length from min_size to max_size - 1, with the aspect "
      "ratio kept.";

  int min_size = 0;
  int max_size = 0;
  Filter interpolation = Filter::bilinear;
  bool operator==(const RandomResize&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(FieldInfo{"min_size", "minimum length of the shorter side, in pixels", 1, kMaxSide},
          self.min_size);
    visit(FieldInfo{"max_size", "exclusive upper limit of the length", 1, kMaxSide}, self.max_size);
    visit(FieldInfo{"interpolation", "how the image is resized"}, self.interpolation);
  }
  void check() const;

  void plan(View& view, Random& random) const;
  bool makes_pixels() const { return true; }
  Size result_size(Size) const { return {}; }
};

}  // namespace tundish
