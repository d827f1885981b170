#include "optim/element.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/testing.h"
#include "optim/group_values.h"

namespace tundish::optim {
namespace {

// Returns the value of a half, computed from its definition.
double value_of_float16(std::uint16_t element) {
  const int exponent = (element >> 10) & 31;
  const int mantissa = element & 1023;
  const double size =
      exponent ? std::ldexp(1024 + mantissa, exponent - 25) : std::ldexp(mantissa, -24);
  return element & 0x8000 ? -size : size;
}

// The two 16-bit neighbors of a value, found by searching all non-negative finite elements.
struct Neighbors {
  std::uint16_t below, above;
};
template <class From>
Neighbors neighbors(double magnitude, std::uint16_t infinity, const From& from) {
  std::uint16_t low = 0, high = infinity;
  while (high - low > 1) {
    const auto middle = static_cast<std::uint16_t>((low + high) / 2);
    (static_cast<double>(from(middle)) <= magnitude ? low : high) = middle;
  }
  return {low, high};
}

template <class From>
std::uint16_t nearest(float value, std::uint16_t infinity, double after_largest, const From& from) {
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const double magnitude = std::fabs(static_cast<double>(value));
  const auto [below, above] = neighbors(magnitude, infinity, from);
  const double low = from(below);
  const double high = above == infinity ? after_largest : static_cast<double>(from(above));
  const double to_low = magnitude - low, to_high = high - magnitude;
  const bool up = to_high < to_low || (to_high == to_low && (above & 1) == 0);
  return static_cast<std::uint16_t>(sign | (up ? above : below));
}

std::vector<float> floats_of_all_kinds() {
  Random random({.seed = test_seed()}, 0);
  std::vector<float> all = {0.0f,         -0.0f,    65504.0f, 65519.9f,   65520.0f,
                            65536.0f,     0x1p-24f, 0x1p-25f, 0x1.8p-25f, 0x1p-14f,
                            0x1.ffcp-15f, 3.3e38f,  -3.4e38f};
  for (int i = 0; i < 20'000; ++i) {
    const float any = float_of(static_cast<std::uint32_t>(random.next()));
    if (std::isfinite(any)) all.push_back(any);
    const double size = std::ldexp(random.uniform(-1, 1), between(random, -30, 17));
    all.push_back(static_cast<float>(size));
  }
  return all;
}

}  // namespace

TEST_CASE("every element of 16 bits becomes its own value, and itself again") {
  for (int i = 0; i < 65'536; ++i) {
    const auto element = static_cast<std::uint16_t>(i);
    CHECK(bits_of(from_bfloat16(element)) == static_cast<std::uint32_t>(i) << 16);
    if ((element & 0x7fff) > 0x7f80) {
      CHECK(to_bfloat16(from_bfloat16(element)) == 0x7fc0);
    } else {
      CHECK(to_bfloat16(from_bfloat16(element)) == element);
      CHECK(to_bfloat16_randomly(from_bfloat16(element), 0xffffffffu) == element);
    }
    if ((element & 0x7c00) != 0x7c00) {
      CHECK(static_cast<double>(from_float16(element)) == value_of_float16(element));
      CHECK(to_float16(from_float16(element)) == element);
      CHECK(to_float16_randomly(from_float16(element), 0xffffffffu) == element);
    } else if (element & 1023) {
      CHECK(std::isnan(from_float16(element)));
      CHECK((to_float16(from_float16(element)) & 0x7fff) == 0x7e00);
    } else {
      CHECK(std::isinf(from_float16(element)));
      CHECK(to_float16(from_float16(element)) == element);
      CHECK(to_float16_randomly(from_float16(element), 0xffffffffu) == element);
    }
  }
}

TEST_CASE("floats round to the nearest element, ties to the even one") {
  for (const float value : floats_of_all_kinds()) {
    CAPTURE(value);
    CHECK(to_bfloat16(value) == nearest(value, 0x7f80, 0x1p128, from_bfloat16));
    CHECK(to_float16(value) == nearest(value, 0x7c00, 65536, from_float16));
  }
  const float infinity = std::numeric_limits<float>::infinity();
  CHECK(to_float16(-infinity) == 0xfc00);
  CHECK(to_bfloat16_randomly(infinity, 0xffffffffu) == 0x7f80);
  CHECK((to_bfloat16_randomly(std::nanf(""), 7) & 0x7fff) == 0x7fc0);
}

TEST_CASE("stochastic rounding gives a neighbor, and the mean of many is the value") {
  Random random({.seed = test_seed()}, 1);
  for (const double size : {1.0 / 3, 1000.1, 0x1.6p-15, 0x1.7p-22, 0x1.3p-26}) {
    const float value = static_cast<float>(-size);
    CAPTURE(value);
    const auto bf = neighbors(size, 0x7f80, from_bfloat16);
    const auto half = neighbors(size, 0x7c00, from_float16);
    double sum_bf = 0, sum_half = 0;
    constexpr int kDraws = 100'000;
    for (int i = 0; i < kDraws; ++i) {
      const std::uint32_t bits =
          rounding_bits(rounding_key(test_seed(), 3, 5), static_cast<std::uint64_t>(i));
      const std::uint16_t a = to_bfloat16_randomly(value, bits) & 0x7fff;
      const std::uint16_t b = to_float16_randomly(value, bits) & 0x7fff;
      REQUIRE((a == bf.below || a == bf.above));
      REQUIRE((b == half.below || b == half.above));
      sum_bf += static_cast<double>(from_bfloat16(a));
      sum_half += static_cast<double>(from_float16(b));
    }
    const double step_bf = from_bfloat16(bf.above) - from_bfloat16(bf.below);
    const double step_half = from_float16(half.above) - from_float16(half.below);
    // The share rounded up has a deviation of at most 0.5 / sqrt(draws); allows 6 deviations.
    const double off = 6 * 0.5 / std::sqrt(double{kDraws});
    CHECK(std::fabs(sum_bf / kDraws - size) < off * step_bf);
    CHECK(std::fabs(sum_half / kDraws - size) < off * step_half);
  }
}

TEST_CASE("every part of the key of a rounding matters") {
  const auto bits = [](std::uint64_t seed, std::int64_t step, std::uint32_t tensor,
                       std::uint64_t element) {
    return rounding_bits(rounding_key(seed, step, tensor), element);
  };
  CHECK(bits(1, 2, 3, 4) == bits(1, 2, 3, 4));
  CHECK(bits(1, 2, 3, 4) != bits(0, 2, 3, 4));
  CHECK(bits(1, 2, 3, 4) != bits(1, 0, 3, 4));
  CHECK(bits(1, 2, 3, 4) != bits(1, 2, 0, 4));
  CHECK(bits(1, 2, 3, 4) != bits(1, 2, 3, 0));
  CHECK(bits(1, 2, 3, 4) != bits(1, 2, 3, 4 + (std::uint64_t{1} << 32)));
}

}  // namespace tundish::optim
