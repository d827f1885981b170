// timm's Mixup: MixUp and CutMix with label smoothing, drawn per batch, per pair or per image.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "augment/operations/mixing/mixup.h"

namespace tundish {

// Unit for which a share or a box is drawn.
enum class MixMode : std::uint8_t { batch = 0, pair = 1, elem = 2 };
constexpr std::array<const char*, 3> words(MixMode) { return {"batch", "pair", "elem"}; }

struct TimmMixup {
  static constexpr const char* kName = "TimmMixup";
  static constexpr const char* kAbout =
      "timm's Mixup: MixUp or CutMix at random, with label smoothing. An image's partner is the "
      "previous image; with mode=\"pair\", images 0 and 1, 2 and 3, ... are mixed with each other. "
      "Labels become (N, num_classes) float32. Must be at the end of the list.";

  double mixup_alpha = 1.0;
  double cutmix_alpha = 0.0;
  std::optional<std::array<double, 2>> cutmix_minmax = {};
  double prob = 1.0;
  double switch_prob = 0.5;
  MixMode mode = MixMode::batch;
  bool correct_lam = true;
  double label_smoothing = 0.1;
  std::optional<std::uint32_t> num_classes = {};
  bool operator==(const TimmMixup&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(FieldInfo{"mixup_alpha", "parameter of MixUp's beta distribution; 0: no MixUp", 0,
                    kMaxNumber},
          self.mixup_alpha);
    visit(FieldInfo{"cutmix_alpha", "parameter of CutMix's beta distribution; 0: no CutMix", 0,
                    kMaxNumber},
          self.cutmix_alpha);
    visit(
        FieldInfo{"cutmix_minmax",
                  "smallest and largest side of CutMix's box, as a share of the image's; CutMix is "
                  "then used",
                  0, 1},
        self.cutmix_minmax);
    visit(FieldInfo{"prob", "probability that images are mixed", 0, 1}, self.prob);
    visit(FieldInfo{"switch_prob", "probability of CutMix where both are used", 0, 1},
          self.switch_prob);
    visit(FieldInfo{"mode",
                    "unit for which a share is drawn: a batch, a pair of images, or each image"},
          self.mode);
    visit(FieldInfo{"correct_lam", "CutMix: the share is the area of the box inside the image"},
          self.correct_lam);
    visit(FieldInfo{"label_smoothing", "share of a label that is spread evenly over all classes", 0,
                    1},
          self.label_smoothing);
    visit(FieldInfo{"num_classes", "number of classes; default: as in the data", 1, kMaxClasses},
          self.num_classes);
  }
  void check() const;
  void check_on(Dtype dtype) const { check_mixes(kName, dtype); }
  Mix draw_mix(Size image, Random& random) const;
};

}  // namespace tundish
