#include "augment/operations/policies/auto_augment.h"

#include "augment/operations/policies/policy_ops.h"

namespace tundish {
namespace {

using enum PolicyOp;

struct Part {
  PolicyOp op;
  double p;       // probability
  int magnitude;  // bin out of ten; 0 if the operation has none
};
struct Pair {
  Part part[2];
};

constexpr Pair kImageNet[25] = {
    {{{posterize, 0.4, 8}, {rotate, 0.6, 9}}},  {{{solarize, 0.6, 5}, {auto_contrast, 0.6, 0}}},
    {{{equalize, 0.8, 0}, {equalize, 0.6, 0}}}, {{{posterize, 0.6, 7}, {posterize, 0.6, 6}}},
    {{{equalize, 0.4, 0}, {solarize, 0.2, 4}}}, {{{equalize, 0.4, 0}, {rotate, 0.8, 8}}},
    {{{solarize, 0.6, 3}, {equalize, 0.6, 0}}}, {{{posterize, 0.8, 5}, {equalize, 1.0, 0}}},
    {{{rotate, 0.2, 3}, {solarize, 0.6, 8}}},   {{{equalize, 0.6, 0}, {posterize, 0.4, 6}}},
    {{{rotate, 0.8, 8}, {color, 0.4, 0}}},      {{{rotate, 0.4, 9}, {equalize, 0.6, 0}}},
    {{{equalize, 0.0, 0}, {equalize, 0.8, 0}}}, {{{invert, 0.6, 0}, {equalize, 1.0, 0}}},
    {{{color, 0.6, 4}, {contrast, 1.0, 8}}},    {{{rotate, 0.8, 8}, {color, 1.0, 2}}},
    {{{color, 0.8, 8}, {solarize, 0.8, 7}}},    {{{sharpness, 0.4, 7}, {invert, 0.6, 0}}},
    {{{shear_x, 0.6, 5}, {equalize, 1.0, 0}}},  {{{color, 0.4, 0}, {equalize, 0.6, 0}}},
    {{{equalize, 0.4, 0}, {solarize, 0.2, 4}}}, {{{solarize, 0.6, 5}, {auto_contrast, 0.6, 0}}},
    {{{invert, 0.6, 0}, {equalize, 1.0, 0}}},   {{{color, 0.6, 4}, {contrast, 1.0, 8}}},
    {{{equalize, 0.8, 0}, {equalize, 0.6, 0}}},
};

constexpr Pair kCifar10[25] = {
    {{{invert, 0.1, 0}, {contrast, 0.2, 6}}},
    {{{rotate, 0.7, 2}, {translate_x, 0.3, 9}}},
    {{{sharpness, 0.8, 1}, {sharpness, 0.9, 3}}},
    {{{shear_y, 0.5, 8}, {translate_y, 0.7, 9}}},
    {{{auto_contrast, 0.5, 0}, {equalize, 0.9, 0}}},
    {{{shear_y, 0.2, 7}, {posterize, 0.3, 7}}},
    {{{color, 0.4, 3}, {brightness, 0.6, 7}}},
    {{{sharpness, 0.3, 9}, {brightness, 0.7, 9}}},
    {{{equalize, 0.6, 0}, {equalize, 0.5, 0}}},
    {{{contrast, 0.6, 7}, {sharpness, 0.6, 5}}},
    {{{color, 0.7, 7}, {translate_x, 0.5, 8}}},
    {{{equalize, 0.3, 0}, {auto_contrast, 0.4, 0}}},
    {{{translate_y, 0.4, 3}, {sharpness, 0.2, 6}}},
    {{{brightness, 0.9, 6}, {color, 0.2, 8}}},
    {{{solarize, 0.5, 2}, {invert, 0.0, 0}}},
    {{{equalize, 0.2, 0}, {auto_contrast, 0.6, 0}}},
    {{{equalize, 0.2, 0}, {equalize, 0.6, 0}}},
    {{{color, 0.9, 9}, {equalize, 0.6, 0}}},
    {{{auto_contrast, 0.8, 0}, {solarize, 0.2, 8}}},
    {{{brightness, 0.1, 3}, {color, 0.7, 0}}},
    {{{solarize, 0.4, 5}, {auto_contrast, 0.9, 0}}},
    {{{translate_y, 0.9, 9}, {translate_y, 0.7, 9}}},
    {{{auto_contrast, 0.9, 0}, {solarize, 0.8, 3}}},
    {{{equalize, 0.8, 0}, {invert, 0.1, 0}}},
    {{{translate_y, 0.7, 9}, {auto_contrast, 0.9, 0}}},
};

constexpr Pair kSvhn[25] = {
    {{{shear_x, 0.9, 4}, {invert, 0.2, 0}}},       {{{shear_y, 0.9, 8}, {invert, 0.7, 0}}},
    {{{equalize, 0.6, 0}, {solarize, 0.6, 6}}},    {{{invert, 0.9, 0}, {equalize, 0.6, 0}}},
    {{{equalize, 0.6, 0}, {rotate, 0.9, 3}}},      {{{shear_x, 0.9, 4}, {auto_contrast, 0.8, 0}}},
    {{{shear_y, 0.9, 8}, {invert, 0.4, 0}}},       {{{shear_y, 0.9, 5}, {solarize, 0.2, 6}}},
    {{{invert, 0.9, 0}, {auto_contrast, 0.8, 0}}}, {{{equalize, 0.6, 0}, {rotate, 0.9, 3}}},
    {{{shear_x, 0.9, 4}, {solarize, 0.3, 3}}},     {{{shear_y, 0.8, 8}, {invert, 0.7, 0}}},
    {{{equalize, 0.9, 0}, {translate_y, 0.6, 6}}}, {{{invert, 0.9, 0}, {equalize, 0.6, 0}}},
    {{{contrast, 0.3, 3}, {rotate, 0.8, 4}}},      {{{invert, 0.8, 0}, {translate_y, 0.0, 2}}},
    {{{shear_y, 0.7, 6}, {solarize, 0.4, 8}}},     {{{invert, 0.6, 0}, {rotate, 0.8, 4}}},
    {{{shear_y, 0.3, 7}, {translate_x, 0.9, 3}}},  {{{shear_x, 0.1, 6}, {invert, 0.6, 0}}},
    {{{solarize, 0.7, 2}, {translate_y, 0.6, 7}}}, {{{shear_y, 0.8, 4}, {invert, 0.8, 0}}},
    {{{shear_x, 0.7, 9}, {translate_y, 0.8, 3}}},  {{{shear_y, 0.8, 5}, {auto_contrast, 0.7, 0}}},
    {{{shear_x, 0.7, 2}, {invert, 0.1, 0}}},
};

PolicyRange range_of(PolicyOp op) {
  switch (op) {
    case shear_x:
    case shear_y:
      return {op, PolicyRange::sides, 0.3};
    case translate_x:
      return {op, PolicyRange::width, 150.0 / 331.0};
    case translate_y:
      return {op, PolicyRange::height, 150.0 / 331.0};
    case rotate:
      return {op, PolicyRange::sides, 30};
    case brightness:
    case color:
    case contrast:
    case sharpness:
      return {op, PolicyRange::sides, 0.9};
    case posterize:
      return {op, PolicyRange::bits, 4};
    case solarize:
      return {op, PolicyRange::downward};
    default:
      return {op};
  }
}

}  // namespace

void AutoAugment::plan(View& view, Random& random) const {
  const Pair* pairs = policy == AutoAugmentPolicy::imagenet  ? kImageNet
                      : policy == AutoAugmentPolicy::cifar10 ? kCifar10
                                                             : kSvhn;
  for (const Part& part : pairs[random.below(25)].part) {
    if (random.uniform() >= part.p) continue;
    add_policy_op(view, random, range_of(part.op), part.magnitude, 10, {interpolation, fill});
  }
}

}  // namespace tundish
