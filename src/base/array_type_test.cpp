#include "base/array_type.h"

#include <doctest/doctest.h>

namespace tundish {
namespace {

TEST_CASE("elements are known by their names") {
  for (std::size_t i = 0; i < kArrayElements; ++i) {
    const auto element = static_cast<ArrayElement>(i);
    CHECK(element_named(element_name(element)) == element);
    CHECK(element_bytes(element) >= 1);
  }
  CHECK_FALSE(element_named("complex64"));
}

TEST_CASE("the bytes of an array are counted, or do not fit") {
  CHECK(array_bytes({ArrayElement::float32, {2, 3, 4}}) == 96);
  CHECK(array_bytes({ArrayElement::float64, {}}) == 8);
  CHECK(array_bytes({ArrayElement::uint8, {5, 0}}) == 0);
  CHECK_FALSE(array_bytes({ArrayElement::uint16, {1ull << 32, 1ull << 31}}));
}

}  // namespace
}  // namespace tundish
