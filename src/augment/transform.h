// Every transform. Include this header only where single transforms matter. A loader's code needs
// augment/transforms.h only, and so is not recompiled when a transform is added.
//
// A transform is a struct in a file of operations/. It has a name, a description of its fields
// (base/fields.h) and some of these members:
//   check()                 throws Error(argument) if its fields contradict each other
//   plan(view, random)      adds its steps to the plan; draws every random number
//   choose(random)          containers only: which of their transforms run, in order
//   plan_elements(view, random)  plan() after ToDtype or Normalize, where elements are not levels
//   check_on(dtype)         throws Error(argument) if elements of this type are not supported
//   makes_pixels()          true if it needs 8-bit levels, like everything that resizes or pads
//   plan_crop(view, crop)   instead of plan(): plans number `crop` of kCrops images per sample
//   draw_mix(size, random)  instead of plan(): mixes the images of a batch (augment/mixing.h)
//   result_size(size)       size of the result; {0, 0} if it depends on the image
//   apply(pixel_values)     changes single values, as Normalize does
//   result_dtype(dtype)     element type of the result
// HACKING.md explains step by step how to add a transform.
#pragma once

#include <variant>

#include "augment/operations/center_crop.h"
#include "augment/operations/crop_or_pad.h"
#include "augment/operations/five_crop.h"
#include "augment/operations/mixing/mixup.h"
#include "augment/operations/mixing/timm_mixup.h"
#include "augment/operations/normalize.h"
#include "augment/operations/pad.h"
#include "augment/operations/pad_to.h"
#include "augment/operations/photometric/color_jitter.h"
#include "augment/operations/photometric/gaussian_blur.h"
#include "augment/operations/photometric/gaussian_noise.h"
#include "augment/operations/photometric/grayscale.h"
#include "augment/operations/photometric/jpeg.h"
#include "augment/operations/photometric/pillow_gaussian_blur.h"
#include "augment/operations/photometric/random_adjust_sharpness.h"
#include "augment/operations/photometric/random_autocontrast.h"
#include "augment/operations/photometric/random_channel_permutation.h"
#include "augment/operations/photometric/random_equalize.h"
#include "augment/operations/photometric/random_erasing.h"
#include "augment/operations/photometric/random_grayscale.h"
#include "augment/operations/photometric/random_invert.h"
#include "augment/operations/photometric/random_photometric_distort.h"
#include "augment/operations/photometric/random_posterize.h"
#include "augment/operations/photometric/random_solarize.h"
#include "augment/operations/photometric/timm_random_erasing.h"
#include "augment/operations/policies/aug_mix.h"
#include "augment/operations/policies/auto_augment.h"
#include "augment/operations/policies/containers.h"
#include "augment/operations/policies/rand_augment.h"
#include "augment/operations/policies/timm_auto_augment.h"
#include "augment/operations/policies/timm_rand_augment.h"
#include "augment/operations/policies/trivial_augment_wide.h"
#include "augment/operations/random_crop.h"
#include "augment/operations/random_horizontal_flip.h"
#include "augment/operations/random_resized_crop.h"
#include "augment/operations/random_sizes.h"
#include "augment/operations/random_vertical_flip.h"
#include "augment/operations/resize.h"
#include "augment/operations/resize_keep_ratio.h"
#include "augment/operations/to_dtype.h"
#include "augment/operations/trim_border.h"
#include "augment/operations/warps/elastic_transform.h"
#include "augment/operations/warps/random_affine.h"
#include "augment/operations/warps/random_perspective.h"
#include "augment/operations/warps/random_rotation.h"
#include "augment/transforms.h"

namespace tundish {

// Kinds of transforms, by their members.
template <class Op>
concept ErasesElements =
    requires(const Op& op, View& view, Random& random) { op.plan_elements(view, random); };

template <class Op>
concept MakesCrops =
    requires(const Op& op, View& view, std::uint32_t crop) { op.plan_crop(view, crop); };

template <class Op>
concept Container = requires(const Op& op, Random& random) { op.choose(random); };

using AnyTransform = std::variant<  //
    RandomResizedCrop,              //
    Resize,                         //
    CenterCrop,                     //
    Pad,                            //
    PadTo,                          //
    FiveCrop,                       //
    TenCrop,                        //
    RandomCrop,                     //
    ScaleJitter,                    //
    RandomShortestSize,             //
    RandomResize,                   //
    RandomHorizontalFlip,           //
    RandomVerticalFlip,             //
    RandomRotation,                 //
    RandomAffine,                   //
    RandomPerspective,              //
    ElasticTransform,               //
    ColorJitter,                    //
    Grayscale,                      //
    RandomGrayscale,                //
    RandomPhotometricDistort,       //
    RandomChannelPermutation,       //
    RandomAdjustSharpness,          //
    RandomAutocontrast,             //
    RandomEqualize,                 //
    RandomInvert,                   //
    RandomPosterize,                //
    RandomSolarize,                 //
    RandAugment,                    //
    TrivialAugmentWide,             //
    AutoAugment,                    //
    AugMix,                         //
    RandomApply,                    //
    RandomChoice,                   //
    RandomOrder,                    //
    GaussianBlur,                   //
    PillowGaussianBlur,             //
    RandomErasing,                  //
    GaussianNoise,                  //
    JPEG,                           //
    TimmRandAugment,                //
    TimmAutoAugment,                //
    TimmRandomErasing,              //
    ResizeKeepRatio,                //
    CenterCropOrPad,                //
    RandomCropOrPad,                //
    TrimBorder,                     //
    MixUp,                          //
    CutMix,                         //
    TimmMixup,                      //
    Normalize,                      //
    ToDtype>;

struct Transform : AnyTransform {
  using AnyTransform::AnyTransform;
  // Defined in transform.cpp: compiling them takes a second, in every file that would need them.
  Transform(const Transform&);
  Transform(Transform&&) noexcept;
  Transform& operator=(const Transform&);
  Transform& operator=(Transform&&) noexcept;
  ~Transform();
  bool operator==(const Transform&) const;
};

}  // namespace tundish
