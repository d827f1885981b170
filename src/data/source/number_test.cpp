#include "data/source/number.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <bit>
#include <random>

namespace tundish {

TEST_CASE("a text is a number when nothing of it is lost in a double") {
  for (const char* text : {"0", "-0", "7", "-12", "0.5", "0.50", "1.00", "100", "1e3", "1E-7", ".5",
                           "5.", "9007199254740992", "0.1", "0.10000000000000001", "1e308",
                           "12345678901234567168", "3.141592653589793"}) {
    CAPTURE(text);
    CHECK(is_exact_number(text));
  }
  for (const char* text : {"", " 1", "1 ", "+1", "00", "007", "-007", "00.5", "00123", "nan", "inf",
                           "1e999", "1e-999", "0x10", "1,5", "12345678901234567890",
                           "12345678901234567891", "9007199254740993", "0.12345678901234567891"}) {
    CAPTURE(text);
    CHECK_FALSE(is_exact_number(text));
  }
}

TEST_CASE("every double is a number in the shortest form and with 17 digits") {
  std::mt19937_64 random(5);
  for (int i = 0; i < 20'000; ++i) {
    const auto value = std::bit_cast<double>(random());
    if (!std::isfinite(value)) continue;
    CAPTURE(value);
    REQUIRE(is_exact_number(fmt::format("{}", value)));
    REQUIRE(is_exact_number(fmt::format("{:.17g}", value)));
  }
}

}  // namespace tundish
