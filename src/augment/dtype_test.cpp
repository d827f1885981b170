#include "augment/dtype.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "base/random.h"

namespace tundish {
namespace {

// Value of a finite 16-bit pattern, directly from the definition.
double float16_value(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int mantissa = bits & 1023;
  const double value =
      exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return bits & 0x8000 ? -value : value;
}

double bfloat16_value(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

// Whether `bits` is nearest to x among its neighbors, or the even one at equal distance.
template <class Value>
bool is_nearest(std::uint16_t bits, double x, Value value) {
  const double error = std::abs(value(bits) - x);
  for (const int step : {-1, 1}) {
    if ((bits & 0x7fff) == 0 && step < 0) continue;
    const auto other = static_cast<std::uint16_t>(bits + step);
    const double other_error = std::abs(value(other) - x);
    if (other_error < error || (other_error == error && (bits & 1))) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("float16 and bfloat16 are the nearest values, ties to even") {
  Random random({.seed = 3}, 0);
  for (int i = 0; i < 200'000; ++i) {
    // Exponents from 2^-27 to 2^14; a third of the mantissas end in a way that produces ties.
    const auto exponent = static_cast<std::uint32_t>(100 + random.below(42));
    auto word = static_cast<std::uint32_t>(random.next()) & 0x807fffffu;
    if (i % 3 == 0) word &= 0xfffff000u;
    if (i % 3 == 1) word &= 0xffff8000u;
    const float x = std::bit_cast<float>(word | exponent << 23);
    REQUIRE(is_nearest(float16_bits(x), x, float16_value));
    REQUIRE(is_nearest(bfloat16_bits(x), x, bfloat16_value));
  }
}

TEST_CASE("the smallest and largest float16 values equal torch's") {
  CHECK(float16_bits(0.0f) == 0x0000);
  CHECK(float16_bits(-0.0f) == 0x8000);
  CHECK(float16_bits(65504.0f) == 0x7bff);
  CHECK(float16_bits(65519.996f) == 0x7bff);
  CHECK(float16_bits(65520.0f) == 0x7c00);
  CHECK(float16_bits(-1e9f) == 0xfc00);
  CHECK(float16_bits(0x1p-25f) == 0x0000);
  CHECK(float16_bits(0x1.000002p-25f) == 0x0001);
  CHECK(float16_bits(std::numeric_limits<float>::quiet_NaN()) == 0x7e00);
  CHECK(bfloat16_bits(std::numeric_limits<float>::max()) == 0x7f80);
}

}  // namespace tundish
