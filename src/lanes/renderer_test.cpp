#include "lanes/renderer.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "augment/testing.h"
#include "lanes/decode_slowly.h"
#include "lanes/testing.h"

namespace tundish::lanes {
namespace {

// Whole sides, single pixels and anything between.
Window any_window(Random& random, int width, int height) {
  const auto side = [&](int all) {
    const int kind = between(random, 0, 3);
    return kind == 0   ? all
           : kind == 1 ? between(random, 1, std::min(all, 4))
                       : between(random, 1, all);
  };
  const int w = side(width), h = side(height);
  return {between(random, 0, width - w), between(random, 0, height - h), w, h};
}

std::vector<std::uint8_t> cut_out(const std::vector<std::uint8_t>& rgb, int width,
                                  const Window& window) {
  std::vector<std::uint8_t> out;
  for (int y = window.y; y < window.y + window.height; ++y) {
    const auto row = rgb.begin() + (std::ptrdiff_t{y} * width + window.x) * 3;
    out.insert(out.end(), row, row + std::ptrdiff_t{window.width} * 3);
  }
  return out;
}

int any_side(Random& random) {
  return between(random, 0, 2) == 0 ? between(random, 1, 20) : between(random, 1, 300);
}

}  // namespace

TEST_CASE("every window is the window of the slow decode, in every instruction set") {
  const std::uint64_t seed = fresh_seed();
  CAPTURE(seed);
  Random random({.seed = seed}, 0);
  std::vector<Renderer> renderers;
  for (const Cpu cpu : all_cpus()) renderers.emplace_back(cpu);
  for (int round = 0; round < 120; ++round) {
    const auto sampling = static_cast<Sampling>(round % kSamplings);
    const int width = any_side(random), height = any_side(random);
    Coefficients image =
        random_coefficients(random, width, height, sampling, between(random, 0, 3) == 0);
    image.colour = between(random, 0, 4) == 0 ? Colour::rgb : Colour::ycc;
    const std::vector<std::uint8_t> whole = decode_slowly(image);
    for (int i = 0; i < 10; ++i) {
      const Window window = any_window(random, width, height);
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

}  // namespace tundish::lanes
