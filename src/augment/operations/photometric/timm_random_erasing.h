// timm's RandomErasing: overwrites random windows of the elements, after Normalize.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "augment/dtype.h"
#include "augment/plan.h"
#include "base/fields.h"
#include "base/random.h"

namespace tundish {

enum class TimmErasingMode : std::uint8_t { constant = 0, rand = 1, pixel = 2 };
constexpr std::array<const char*, 3> words(TimmErasingMode) { return {"const", "rand", "pixel"}; }

struct TimmRandomErasing {
  static constexpr const char* kName = "TimmRandomErasing";
  static constexpr const char* kAbout =
      "Overwrites one or more random windows after Normalize, as timm does.";

  double probability = 0.5;
  double min_area = 0.02;
  double max_area = 1.0 / 3.0;
  double min_aspect = 0.3;
  std::optional<double> max_aspect = {};
  TimmErasingMode mode = TimmErasingMode::constant;
  int min_count = 1;
  std::optional<int> max_count = {};
  bool operator==(const TimmRandomErasing&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(FieldInfo{"probability", "probability that an image is changed", 0, 1}, self.probability);
    visit(
        FieldInfo{"min_area", "smallest share of the image's area, of all windows together", 0, 1},
        self.min_area);
    visit(FieldInfo{"max_area", "largest share of the image's area, of all windows together", 0, 1},
          self.max_area);
    visit(FieldInfo{"min_aspect", "smallest height / width of a window", 0, kMaxNumber},
          self.min_aspect);
    visit(
        FieldInfo{"max_aspect", "largest height / width; without it 1 / min_aspect", 0, kMaxNumber},
        self.max_aspect);
    visit(
        FieldInfo{
            "mode",
            "const: zeros; rand: a normal number for each window and channel; pixel: for each "
            "element"},
        self.mode);
    visit(FieldInfo{"min_count", "fewest windows of a changed image", 0, 1000}, self.min_count);
    visit(FieldInfo{"max_count", "most windows; without it min_count", 0, 1000}, self.max_count);
  }
  void check() const;
  void check_on(Dtype dtype) const;

  // Never works on levels: check_on() refuses them.
  void plan(View& view, Random& random) const { plan_elements(view, random); }
  void plan_elements(View& view, Random& random) const;
};

}  // namespace tundish
