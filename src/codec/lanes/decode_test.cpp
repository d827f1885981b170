#include "codec/lanes/decode.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "base/testing.h"
#include "codec/lanes/decode_reference.h"
#include "codec/lanes/testing.h"

namespace tundish::lanes {
namespace {

int any_side(Random& random) {
  return between(random, 0, 2) == 0 ? between(random, 1, 20) : between(random, 1, 300);
}

}  // namespace

TEST_CASE("every window is the window of the slow decode, in every instruction set") {
  const std::uint64_t seed = test_seed();
  CAPTURE(seed);
  Random random({.seed = seed}, 0);
  std::vector<Renderer> renderers;
  for (const Cpu cpu : all_cpus()) renderers.emplace_back(cpu);
  for (int round = 0; round < 120; ++round) {
    const auto sampling = static_cast<Sampling>(round % kSamplings);
    const int width = any_side(random), height = any_side(random);
    Coefficients image =
        random_coefficients(random, width, height, sampling, between(random, 0, 3) == 0);
    image.color = between(random, 0, 4) == 0 ? Color::rgb : Color::ycc;
    const std::vector<std::uint8_t> whole = decode_reference(image);
    for (int i = 0; i < 10; ++i) {
      const Window window = random_window(random, width, height);
      const std::vector<std::uint8_t> expected = cut_out(whole, width, window);
      for (std::size_t r = 0; r < renderers.size(); ++r) {
        CAPTURE(round);
        CAPTURE(cpu_name(static_cast<Cpu>(r)));
        CAPTURE(width);
        CAPTURE(height);
        CAPTURE(window.x);
        CAPTURE(window.y);
        CAPTURE(window.width);
        CAPTURE(window.height);
        REQUIRE(render_window(renderers[r], image, window) == expected);
      }
    }
  }
}

TEST_CASE("the longest and the thinnest images are rendered") {
  const std::uint64_t seed = test_seed();
  CAPTURE(seed);
  Random random({.seed = seed}, 0);
  for (const Size size : {Size{65535, 3}, Size{3, 65535}}) {
    for (int sampling = 0; sampling < kSamplings; ++sampling) {
      const Coefficients image = random_coefficients(random, size.width, size.height,
                                                     static_cast<Sampling>(sampling), false);
      Renderer renderer;
      const Window all = {0, 0, size.width, size.height};
      CHECK(render_window(renderer, image, all) == decode_reference(image));
    }
  }
}

TEST_CASE("a plan has the blocks that the window's pixels depend on, and no others") {
  const std::uint64_t seed = test_seed();
  CAPTURE(seed);
  Random random({.seed = seed}, 0);
  for (int round = 0; round < 60; ++round) {
    const auto sampling = static_cast<Sampling>(round % kSamplings);
    const int width = between(random, 1, 70), height = between(random, 1, 70);
    Coefficients image = random_coefficients(random, width, height, sampling, false);
    for (int c = 0; c < image.geometry.components; ++c) {  // uniform gray: any change shows
      image.quantization[c][0] = 16;
      std::fill(image.blocks[c].begin(), image.blocks[c].end(), Block{});
    }
    const Window window = random_window(random, width, height);
    const CropPlan plan = plan_crop(image.geometry, window);
    const std::vector<std::uint8_t> before = cut_out(decode_reference(image), width, window);
    for (int c = 0; c < image.geometry.components; ++c) {
      const int across = image.geometry.component[c].blocks_x;
      const int blocks = across * image.geometry.component[c].blocks_y;
      for (int b = 0; b < blocks; ++b) {
        const BlockRect& need = plan.blocks[c];
        const bool planned = b % across >= need.x0 && b % across < need.x1 &&
                             b / across >= need.y0 && b / across < need.y1;
        std::int16_t& dc = image.blocks[c][static_cast<std::size_t>(b)][0];
        dc = 50;
        const bool same = cut_out(decode_reference(image), width, window) == before;
        dc = 0;
        CAPTURE(round);
        CAPTURE(c);
        CAPTURE(b);
        REQUIRE(same == !planned);
      }
    }
  }
}

}  // namespace tundish::lanes
