#include "cuda/decode/pixel_fours.h"

#include <doctest/doctest.h>

#include <vector>

#include "augment/cpu/testing.h"

namespace tundish::cuda {
namespace {

// Returns the blocks of one component; the plane has a random part of these blocks.
PlaneTask random_plane(Random& random, int width, int height, std::uint64_t& bytes) {
  PlaneTask plane = {};
  plane.width = static_cast<std::uint16_t>(width);
  plane.height = static_cast<std::uint16_t>(height);
  plane.blocks_x = static_cast<std::uint16_t>((width + 7) / 8);
  plane.blocks_y = static_cast<std::uint16_t>((height + 7) / 8);
  plane.x0 = static_cast<std::uint16_t>(between(random, 0, plane.blocks_x - 1));
  plane.x1 = static_cast<std::uint16_t>(between(random, plane.x0 + 1, plane.blocks_x));
  plane.y1 = plane.blocks_y;
  plane.at = static_cast<std::uint32_t>(bytes / kPlaneAlign);
  const int columns = 8 * (plane.x1 - plane.x0);
  plane.pitch = static_cast<std::uint32_t>((columns + kPlaneAlign - 1) / kPlaneAlign * kPlaneAlign);
  bytes += std::uint64_t{plane.pitch} * plane.y1 * 8;
  return plane;
}

}  // namespace

TEST_CASE("eight pixels at a time are twice four, for every sampling") {
  const std::uint64_t seed = test_seed();
  CAPTURE(seed);
  Random random({.seed = seed}, 0);
  for (int round = 0; round < 400; ++round) {
    const auto chroma = static_cast<Chroma>(random.below(6));
    CAPTURE(round);
    CAPTURE(static_cast<int>(chroma));
    const bool wide = chroma == Chroma::smooth_wide || chroma == Chroma::smooth_both;
    const bool high = chroma == Chroma::smooth_high || chroma == Chroma::smooth_both;
    const int width = between(random, 1, 90), height = between(random, 1, 20);
    ImageTask image = {};
    image.chroma = chroma;
    image.width = static_cast<std::uint16_t>(width);
    image.height = static_cast<std::uint16_t>(height);
    image.shift_x = chroma == Chroma::repeat ? static_cast<std::uint8_t>(random.below(3)) : wide;
    image.shift_y = chroma == Chroma::repeat ? static_cast<std::uint8_t>(random.below(3)) : high;
    std::uint64_t bytes = 0;
    const int across = 1 << image.shift_x, down = 1 << image.shift_y;
    const PlaneTask coarse =
        random_plane(random, (width + across - 1) / across, (height + down - 1) / down, bytes);
    bytes = 0;
    image.plane[0] = random_plane(random, width, height, bytes);
    // Luma covers the same area as chroma.
    image.plane[0].x0 = static_cast<std::uint16_t>(coarse.x0 * across);
    image.plane[0].x1 =
        std::min(static_cast<std::uint16_t>(coarse.x1 * across), image.plane[0].blocks_x);
    image.plane[0].pitch = 128;
    bytes = std::uint64_t{128} * 8 * image.plane[0].y1;
    for (int c = 1; c < 3; ++c) {
      image.plane[c] = coarse;
      image.plane[c].at = static_cast<std::uint32_t>(bytes / kPlaneAlign);
      bytes += std::uint64_t{coarse.pitch} * coarse.y1 * 8;
    }
    std::vector<std::uint8_t> planes(static_cast<std::size_t>(bytes));
    for (std::uint8_t& level : planes) level = static_cast<std::uint8_t>(random.next());

    const FourPixels pixels(image, planes.data());
    const int begin = 8 * image.plane[0].x0;
    const int end = std::min(8 * image.plane[0].x1, width);
    for (int y = 0; y < height; ++y) {
      for (int x = begin; x < end; x += 8) {
        FourPixels::Samples eight[2];
        pixels.load_eight(eight, x, y);
        for (int i = 0; i < 8 && x + i < end; ++i) {
          CAPTURE(x + i);
          CAPTURE(y);
          const FourPixels::Samples four = pixels.load((x + i) & ~3, y);
          REQUIRE(byte_of(eight[i / 4].first, i % 4) == byte_of(four.first, i % 4));
          REQUIRE(byte_of(eight[i / 4].second, i % 4) == byte_of(four.second, i % 4));
          REQUIRE(byte_of(eight[i / 4].third, i % 4) == byte_of(four.third, i % 4));
        }
      }
    }
  }
}

}  // namespace tundish::cuda
