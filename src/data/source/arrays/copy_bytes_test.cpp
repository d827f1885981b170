#include "data/source/arrays/copy_bytes.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "base/random.h"
#include "base/testing.h"

namespace tundish {
namespace {

TEST_CASE("bytes of any number are copied between any places, and none beside them") {
  Random random({.seed = test_seed()}, 0);
  for (int trial = 0; trial < 300; ++trial) {
    const auto bytes = static_cast<std::size_t>(random.below(trial % 50 == 0 ? 600'000 : 5'000));
    const auto from = static_cast<std::size_t>(random.below(70));
    const auto to = static_cast<std::size_t>(1 + random.below(70));
    std::vector<std::byte> source(from + bytes), target(to + bytes + 1, std::byte{7});
    for (std::byte& one : source) one = static_cast<std::byte>(random.next() >> 56);
    copy_bytes(target.data() + to, source.data() + from, bytes);
    CHECK(std::equal(source.begin() + static_cast<std::ptrdiff_t>(from), source.end(),
                     target.begin() + static_cast<std::ptrdiff_t>(to)));
    CHECK(target[to - 1] == std::byte{7});
    CHECK(target.back() == std::byte{7});
    std::vector<std::byte> grown = source;
    append_bytes(grown, source);
    CHECK(grown.size() == 2 * source.size());
    CHECK(std::equal(source.begin(), source.end(),
                     grown.end() - static_cast<std::ptrdiff_t>(source.size())));
  }
}

}  // namespace
}  // namespace tundish
