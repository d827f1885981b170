#include "augment/pixels/alpha/premultiply.h"

#include <doctest/doctest.h>

#include <vector>

#include "augment/pixels/alpha/premultiply_ops.h"

using namespace tundish;

namespace {

// Every level with every alpha, in each of the three channels.
struct AllPairs {
  std::vector<std::uint8_t> rgb, alpha;
  AllPairs() {
    for (int level = 0; level < 256; ++level) {
      for (int one = 0; one < 256; ++one) {
        rgb.insert(rgb.end(), 3, static_cast<std::uint8_t>(level));
        alpha.insert(alpha.end(), 3, static_cast<std::uint8_t>(one));
      }
    }
  }
};

}  // namespace

TEST_CASE("images are multiplied by their alpha as the arithmetic says, for all pairs") {
  AllPairs made;
  const AllPairs before;
  multiply_by_alpha(made.rgb, made.alpha);
  int wrong = 0;
  for (std::size_t i = 0; i < made.rgb.size(); ++i) {
    wrong += made.rgb[i] != multiplied(before.rgb[i], before.alpha[i]);
    // The nearest integer; no product is halfway between two integers.
    wrong += made.rgb[i] != (before.rgb[i] * before.alpha[i] + 127) / 255;
  }
  CHECK(wrong == 0);
}

TEST_CASE("images are divided by their alpha as the arithmetic says, for all pairs") {
  AllPairs made;
  const AllPairs before;
  divide_by_alpha(made.rgb, made.alpha);
  int wrong = 0;
  for (std::size_t i = 0; i < made.rgb.size(); ++i) {
    wrong += made.rgb[i] != divided(before.rgb[i], before.alpha[i]);
  }
  CHECK(wrong == 0);
}

TEST_CASE("opaque colors stay as they are, and so do divided ones without alpha") {
  for (int level = 0; level < 256; ++level) {
    const auto one = static_cast<std::uint8_t>(level);
    CHECK(multiplied(one, 255) == one);
    CHECK(divided(one, 255) == one);
    CHECK(multiplied(one, 0) == 0);
    CHECK(divided(one, 0) == one);
  }
}
