// torchvision Grayscale: converts colors to grays.
#pragma once

#include "augment/image_mode.h"
#include "augment/plan.h"
#include "base/fields.h"
#include "base/random.h"

namespace tundish {

struct Grayscale {
  static constexpr const char* kName = "Grayscale";
  static constexpr const char* kAbout = "Converts to gray, in three equal channels.";

  int num_output_channels = 1;  // torchvision's default
  bool operator==(const Grayscale&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(FieldInfo{"num_output_channels", "as many as a batch has: 3, or 1 with mode=\"L\"", 1, 3},
          self.num_output_channels);
  }
  void check_mode(ImageMode mode) const {
    const int channels = channels_of(mode);
    if (num_output_channels == channels) return;
    refuse_argument(
        kName, fmt::format(
                   "num_output_channels must be {}, not {}: {}", channels, num_output_channels,
                   channels == 3
                       ? "a batch has three channels. Write Grayscale(3) for three equal ones; for "
                         "batches of one channel leave Grayscale out, and use Loader(mode=\"L\")"
                       : "a batch of mode=\"L\" has one channel. Leave Grayscale out, or write "
                         "Grayscale(1)"));
  }

  void plan(View& view, Random&) const { view.add({.op = PixelOp::grayscale}); }
  bool makes_pixels() const { return true; }
};

}  // namespace tundish
