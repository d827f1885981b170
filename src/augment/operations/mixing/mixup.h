// torchvision MixUp and CutMix: each image of a batch is mixed with the one before it.
#pragma once

#include <cstdint>
#include <optional>

#include "augment/dtype.h"
#include "augment/mix.h"
#include "base/fields.h"
#include "base/random.h"

namespace tundish {

inline constexpr double kMaxClasses = 1 << 24;

struct MixUp {
  static constexpr const char* kName = "MixUp";
  static constexpr const char* kAbout =
      "Blends each image of the batch with the previous one, and their labels, which become (N, "
      "num_classes) float32. Must be at the end of the list.";

  double alpha = 1.0;
  std::optional<std::uint32_t> num_classes = {};
  bool operator==(const MixUp&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(FieldInfo{"alpha",
                    "parameter of the beta distribution from which the image's share is drawn", 0,
                    kMaxNumber},
          self.alpha);
    visit(FieldInfo{"num_classes", "number of classes; default: as in the data", 1, kMaxClasses},
          self.num_classes);
  }
  void check() const;
  void check_on(Dtype dtype) const;
  Mix draw_mix(Size image, Random& random) const;
};

struct CutMix {
  static constexpr const char* kName = "CutMix";
  static constexpr const char* kAbout =
      "Pastes a random box of the previous image into each image of the batch; labels are mixed by "
      "area and become (N, num_classes) float32. Must be at the end of the list.";

  double alpha = 1.0;
  std::optional<std::uint32_t> num_classes = {};
  bool operator==(const CutMix&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(FieldInfo{"alpha",
                    "parameter of the beta distribution from which the image's share is drawn", 0,
                    kMaxNumber},
          self.alpha);
    visit(FieldInfo{"num_classes", "number of classes; default: as in the data", 1, kMaxClasses},
          self.num_classes);
  }
  void check() const;
  void check_on(Dtype dtype) const;
  Mix draw_mix(Size image, Random& random) const;
};

// Refuses uint8: mixing needs a floating-point type.
void check_mixes(const char* name, Dtype dtype);

}  // namespace tundish
