#include "augment/operations/policies/trivial_augment_wide.h"

#include <iterator>

#include "augment/operations/policies/policy_ops.h"

namespace tundish {
namespace {

// torchvision's augmentation space, in torchvision's order.
constexpr PolicyRange kOps[] = {
    {PolicyOp::identity},
    {PolicyOp::shear_x, PolicyRange::sides, 0.99},
    {PolicyOp::shear_y, PolicyRange::sides, 0.99},
    {PolicyOp::translate_x, PolicyRange::sides, 32},
    {PolicyOp::translate_y, PolicyRange::sides, 32},
    {PolicyOp::rotate, PolicyRange::sides, 135},
    {PolicyOp::brightness, PolicyRange::sides, 0.99},
    {PolicyOp::color, PolicyRange::sides, 0.99},
    {PolicyOp::contrast, PolicyRange::sides, 0.99},
    {PolicyOp::sharpness, PolicyRange::sides, 0.99},
    {PolicyOp::posterize, PolicyRange::bits, 6},
    {PolicyOp::solarize, PolicyRange::downward},
    {PolicyOp::auto_contrast},
    {PolicyOp::equalize},
};

}  // namespace

void TrivialAugmentWide::plan(View& view, Random& random) const {
  const PolicyRange& range = kOps[random.below(std::size(kOps))];
  const int bin = static_cast<int>(random.below(static_cast<std::uint64_t>(num_magnitude_bins)));
  add_policy_op(view, random, range, bin, num_magnitude_bins, {interpolation, fill});
}

}  // namespace tundish
