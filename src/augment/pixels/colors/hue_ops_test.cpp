#include "augment/pixels/colors/hue_ops.h"

#include <doctest/doctest.h>

#include <vector>

#include "augment/pixels/colors/colors.h"
#include "augment/pixels/colors/colors_reference.h"
#include "augment/pixels/colors/sharpness_ops.h"
#include "base/testing.h"

namespace tundish {
namespace {

template <class Visit>
void each_color(Visit visit) {
  for (int red = 0; red < 256; red += one_in(5)) {
    for (int green = 0; green < 256; ++green) {
      for (int blue = 0; blue < 256; ++blue) visit(red, green, blue);
    }
  }
}

SlowColor color(int first, int second, int third) {
  return {{static_cast<std::uint8_t>(first), static_cast<std::uint8_t>(second),
           static_cast<std::uint8_t>(third)}};
}

TEST_CASE("every color has Pillow's HSV, and every HSV Pillow's color") {
  int wrong = 0;
  each_color([&wrong](int a, int b, int c) {
    const SlowColor hsv = hsv_reference(color(a, b, c)), rgb = rgb_reference(color(a, b, c));
    const Hsv found = hsv_of(a, b, c);
    wrong +=
        found.hue != hsv.part[0] || found.saturation != hsv.part[1] || found.value != hsv.part[2];
    wrong += rgb_of({a, b, c}) !=
             static_cast<std::uint32_t>(rgb.part[0] | rgb.part[1] << 8 | rgb.part[2] << 16);
  });
  CHECK(wrong == 0);
}

// Visits quotients with relative errors up to 2^-20, more than a GPU's division may have.
template <class Visit>
void each_quotient(float exact, Visit visit) {
  for (const float off : {-0x1p-20f, -0x1p-22f, 0.0f, 0x1p-22f, 0x1p-20f}) {
    visit(exact + exact * off);
  }
}

TEST_CASE("hue and saturation come from any quotient that is nearly exact") {
  int wrong = 0;
  for (int chroma = 1; chroma < 256; ++chroma) {
    const auto parts = static_cast<float>(chroma);
    for (int sixths = 0; sixths < 6 * chroma; ++sixths) {
      each_quotient(42.5f * static_cast<float>(sixths) / parts, [&](float quotient) {
        wrong += hue_from(quotient, kHueBelow) != hue_of(sixths, chroma);
      });
    }
    for (int most = chroma; most < 256; ++most) {
      each_quotient(255.0f * parts / static_cast<float>(most), [&](float quotient) {
        wrong += saturation_from(quotient) != 255 * chroma / most;
      });
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("every instruction set shifts the hue of every color alike") {
  std::vector<std::uint8_t> image, expected;
  each_color([&image](int a, int b, int c) {
    for (const int level : {a, b, c}) image.push_back(static_cast<std::uint8_t>(level));
  });
  for (const double added : {0.0, 1.0, 77.0, 128.0, 255.0}) {
    const PixelStep step{.op = PixelOp::hue, .value = {added}};
    expected = image;
    change_colors(expected.data(), expected.size() / 3, step, Cpu::scalar);
    for (int cpu = 1; cpu <= static_cast<int>(best_cpu()); ++cpu) {
      std::vector<std::uint8_t> found = image;
      change_colors(found.data(), found.size() / 3, step, static_cast<Cpu>(cpu));
      CHECK(found == expected);
    }
  }
}

TEST_CASE("the mean of a 3 x 3 neighborhood is Pillow's, of every sum") {
  for (int sum = 0; sum <= 13 * 255; ++sum) {
    CHECK(smoothed(sum) == static_cast<int>(sum / 13.0 + 0.5));
    CHECK(smoothed(sum) == (sum + 6) * 5042 >> 16);
  }
}

}  // namespace
}  // namespace tundish
