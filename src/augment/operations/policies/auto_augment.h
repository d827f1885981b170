// torchvision AutoAugment.
#pragma once

#include <array>
#include <cstdint>

#include "augment/plan.h"
#include "base/fields.h"
#include "base/random.h"

namespace tundish {

enum class AutoAugmentPolicy : std::uint8_t { imagenet = 0, cifar10 = 1, svhn = 2 };
constexpr std::array<const char*, 3> words(AutoAugmentPolicy) {
  return {"imagenet", "cifar10", "svhn"};
}

struct AutoAugment {
  static constexpr const char* kName = "AutoAugment";
  static constexpr const char* kAbout =
      "Applies two operations of a policy that was learned on a dataset.";

  AutoAugmentPolicy policy = AutoAugmentPolicy::imagenet;
  Filter interpolation = Filter::nearest;
  Fill fill{};
  bool operator==(const AutoAugment&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(FieldInfo{"policy", "dataset that the policy was learned on"}, self.policy);
    visit(FieldInfo{"interpolation", "interpolation of operations that move pixels"},
          self.interpolation);
    visit(FieldInfo{"fill", "level outside the image, or one per channel", 0, 255}, self.fill);
  }

  void plan(View& view, Random& random) const;
  bool makes_pixels() const { return true; }
};

}  // namespace tundish
