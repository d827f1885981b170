#include "augment/operations/policies/rand_augment.h"

#include <iterator>

#include "augment/operations/policies/policy_ops.h"

namespace tundish {
namespace {

// torchvision's augmentation space, in torchvision's order.
constexpr PolicyRange kOps[] = {
    {PolicyOp::identity},
    {PolicyOp::shear_x, PolicyRange::sides, 0.3},
    {PolicyOp::shear_y, PolicyRange::sides, 0.3},
    {PolicyOp::translate_x, PolicyRange::width, 150.0 / 331.0},
    {PolicyOp::translate_y, PolicyRange::height, 150.0 / 331.0},
    {PolicyOp::rotate, PolicyRange::sides, 30},
    {PolicyOp::brightness, PolicyRange::sides, 0.9},
    {PolicyOp::color, PolicyRange::sides, 0.9},
    {PolicyOp::contrast, PolicyRange::sides, 0.9},
    {PolicyOp::sharpness, PolicyRange::sides, 0.9},
    {PolicyOp::posterize, PolicyRange::bits, 4},
    {PolicyOp::solarize, PolicyRange::downward},
    {PolicyOp::auto_contrast},
    {PolicyOp::equalize},
};

}  // namespace

void RandAugment::check() const {
  if (magnitude < num_magnitude_bins) return;
  refuse_argument(kName, fmt::format("magnitude must be below num_magnitude_bins ({}), not {}",
                                     num_magnitude_bins, magnitude));
}

void RandAugment::plan(View& view, Random& random) const {
  for (int i = 0; i < num_ops; ++i) {
    const PolicyRange& range = kOps[random.below(std::size(kOps))];
    add_policy_op(view, random, range, magnitude, num_magnitude_bins, {interpolation, fill});
  }
}

}  // namespace tundish
