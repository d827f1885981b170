#include "augment/operations/policies/timm_auto_augment.h"

#include <iterator>
#include <span>

#include "augment/operations/policies/timm_config.h"

namespace tundish {
namespace {

using enum TimmOp;

struct Part {
  TimmOp op;
  double p;
  int magnitude;
};
struct Pair {
  Part part[2];
};

// `posterize` is a placeholder for the posterize variant of the policy.
constexpr Pair kOriginal[] = {
    {{{posterize, 0.4, 8}, {rotate, 0.6, 9}}},  {{{solarize, 0.6, 5}, {auto_contrast, 0.6, 5}}},
    {{{equalize, 0.8, 8}, {equalize, 0.6, 3}}}, {{{posterize, 0.6, 7}, {posterize, 0.6, 6}}},
    {{{equalize, 0.4, 7}, {solarize, 0.2, 4}}}, {{{equalize, 0.4, 4}, {rotate, 0.8, 8}}},
    {{{solarize, 0.6, 3}, {equalize, 0.6, 7}}}, {{{posterize, 0.8, 5}, {equalize, 1.0, 2}}},
    {{{rotate, 0.2, 3}, {solarize, 0.6, 8}}},   {{{equalize, 0.6, 8}, {posterize, 0.4, 6}}},
    {{{rotate, 0.8, 8}, {color, 0.4, 0}}},      {{{rotate, 0.4, 9}, {equalize, 0.6, 2}}},
    {{{equalize, 0.0, 7}, {equalize, 0.8, 8}}}, {{{invert, 0.6, 4}, {equalize, 1.0, 8}}},
    {{{color, 0.6, 4}, {contrast, 1.0, 8}}},    {{{rotate, 0.8, 8}, {color, 1.0, 2}}},
    {{{color, 0.8, 8}, {solarize, 0.8, 7}}},    {{{sharpness, 0.4, 7}, {invert, 0.6, 8}}},
    {{{shear_x, 0.6, 5}, {equalize, 1.0, 9}}},  {{{color, 0.4, 0}, {equalize, 0.6, 3}}},
    {{{equalize, 0.4, 7}, {solarize, 0.2, 4}}}, {{{solarize, 0.6, 5}, {auto_contrast, 0.6, 5}}},
    {{{invert, 0.6, 4}, {equalize, 1.0, 8}}},   {{{color, 0.6, 4}, {contrast, 1.0, 8}}},
    {{{equalize, 0.8, 8}, {equalize, 0.6, 3}}},
};

constexpr Pair kV0[] = {
    {{{equalize, 0.8, 1}, {shear_y, 0.8, 4}}},
    {{{color, 0.4, 9}, {equalize, 0.6, 3}}},
    {{{color, 0.4, 1}, {rotate, 0.6, 8}}},
    {{{solarize, 0.8, 3}, {equalize, 0.4, 7}}},
    {{{solarize, 0.4, 2}, {solarize, 0.6, 2}}},
    {{{color, 0.2, 0}, {equalize, 0.8, 8}}},
    {{{equalize, 0.4, 8}, {solarize_add, 0.8, 3}}},
    {{{shear_x, 0.2, 9}, {rotate, 0.6, 8}}},
    {{{color, 0.6, 1}, {equalize, 1.0, 2}}},
    {{{invert, 0.4, 9}, {rotate, 0.6, 0}}},
    {{{equalize, 1.0, 9}, {shear_y, 0.6, 3}}},
    {{{color, 0.4, 7}, {equalize, 0.6, 0}}},
    {{{posterize, 0.4, 6}, {auto_contrast, 0.4, 7}}},
    {{{solarize, 0.6, 8}, {color, 0.6, 9}}},
    {{{solarize, 0.2, 4}, {rotate, 0.8, 9}}},
    {{{rotate, 1.0, 7}, {translate_y_rel, 0.8, 9}}},
    {{{shear_x, 0.0, 0}, {solarize, 0.8, 4}}},
    {{{shear_y, 0.8, 0}, {color, 0.6, 4}}},
    {{{color, 1.0, 0}, {rotate, 0.6, 2}}},
    {{{equalize, 0.8, 4}, {equalize, 0.0, 8}}},
    {{{equalize, 1.0, 4}, {auto_contrast, 0.6, 2}}},
    {{{shear_y, 0.4, 7}, {solarize_add, 0.6, 7}}},
    {{{posterize, 0.8, 2}, {solarize, 0.6, 10}}},
    {{{solarize, 0.6, 8}, {equalize, 0.6, 1}}},
    {{{color, 0.8, 6}, {rotate, 0.4, 5}}},
};

constexpr Part kThreeAugment[] = {
    {solarize, 1, 5}, {desaturate, 1, 10}, {gaussian_blur_rand, 1, 10}};

std::span<const Part> draw_parts(TimmPolicy policy, Random& random) {
  switch (policy) {
    case TimmPolicy::three_augment:
      return {kThreeAugment + random.below(std::size(kThreeAugment)), 1};
    case TimmPolicy::original:
    case TimmPolicy::originalr:
      return kOriginal[random.below(std::size(kOriginal))].part;
    default:
      return kV0[random.below(std::size(kV0))].part;
  }
}

TimmOp with_posterize_of(TimmPolicy policy, TimmOp op) {
  if (op != posterize || policy == TimmPolicy::v0) return op;
  return policy == TimmPolicy::original ? posterize_original : posterize_increasing;
}

}  // namespace

void TimmAutoAugment::check() const { timm_auto_config(kName, config); }

void TimmAutoAugment::plan(View& view, Random& random) const {
  const TimmAutoConfig parsed = timm_auto_config(kName, config);
  for (const Part& part : draw_parts(parsed.policy, random)) {
    if (random.uniform() >= part.p) continue;
    const TimmMagnitude magnitude{.mean = static_cast<double>(part.magnitude), .std = parsed.std};
    add_timm_op(view, random, with_posterize_of(parsed.policy, part.op), magnitude.draw(random),
                {img_mean, interpolation, translate_pct});
  }
}

}  // namespace tundish
