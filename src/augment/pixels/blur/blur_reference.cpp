#include <algorithm>

#include "augment/filter.h"
#include "augment/pixels/blur/blur.h"
#include "augment/pixels/blur/blur_ops.h"
#include "augment/pixels/blur/gaussian_taps.h"

namespace tundish {
namespace {

std::size_t at(Size size, int x, int y, int c) {
  return (static_cast<std::size_t>(y) * static_cast<std::size_t>(size.width) +
          static_cast<std::size_t>(x)) *
             3 +
         static_cast<std::size_t>(c);
}

// Calls make(x, y, c) for every sample in turn.
template <class Make>
void for_each_sample(Size size, const Make& make) {
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      for (int c = 0; c < 3; ++c) make(x, y, c);
    }
  }
}

void gaussian_reference(const PixelStep& step, std::vector<std::uint8_t>& rgb, Size size) {
  const auto across = gaussian_taps(static_cast<int>(step.value[0]), step.value[4]);
  const auto down = gaussian_taps(static_cast<int>(step.value[1]), step.value[5]);
  std::vector<float> between(rgb.size());
  for_each_sample(size, [&](int x, int y, int c) {
    between[at(size, x, y, c)] =
        gaussian_sum(across.data(), static_cast<int>(across.size()) - 1, [&](int d) {
          return static_cast<float>(
              rgb[at(size, padded_index(x + d, size.width, PadMode::reflect), y, c)]);
        });
  });
  for_each_sample(size, [&](int x, int y, int c) {
    rgb[at(size, x, y, c)] =
        level_of_sum(gaussian_sum(down.data(), static_cast<int>(down.size()) - 1, [&](int d) {
          return between[at(size, x, padded_index(y + d, size.height, PadMode::reflect), c)];
        }));
  });
}

// read(d) returns sample d along the axis; past the ends the last sample is repeated.
template <class Read>
std::uint8_t box_reference(const Box& box, const Read& read) {
  std::uint32_t inside = 0;
  for (int d = -box.radius; d <= box.radius; ++d) inside += read(d);
  return box_level(box, inside, std::uint32_t{read(-box.radius - 1)} + read(box.radius + 1));
}

void pillow_reference(const PixelStep& step, std::vector<std::uint8_t>& rgb, Size size) {
  const Box box = box_of(step.value[0]);
  for (int pass = 0; pass < 2 * kBoxPasses; ++pass) {
    const std::vector<std::uint8_t> before = rgb;
    const bool across = pass < kBoxPasses;
    for_each_sample(size, [&](int x, int y, int c) {
      rgb[at(size, x, y, c)] = box_reference(box, [&](int d) {
        const int from_x = across ? std::clamp(x + d, 0, size.width - 1) : x;
        const int from_y = across ? y : std::clamp(y + d, 0, size.height - 1);
        return before[at(size, from_x, from_y, c)];
      });
    });
  }
}

}  // namespace

void blur_reference(const PixelStep& step, std::vector<std::uint8_t>& rgb, Size size) {
  if (step.op == PixelOp::gaussian_blur) gaussian_reference(step, rgb, size);
  if (step.op == PixelOp::box_blur) pillow_reference(step, rgb, size);
}

}  // namespace tundish
