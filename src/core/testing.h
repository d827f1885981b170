// What the tests of every folder share: the seed of random tests.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <random>

namespace tundish {

// One seed for the whole run, another one in every run. unit_tests prints it first, so that a run
// that crashes has said it too; TUNDISH_TEST_SEED=N repeats a run with the seed N.
inline std::uint64_t test_seed() {
  static const std::uint64_t seed = [] {
    const char* wanted = std::getenv("TUNDISH_TEST_SEED");
    return wanted ? std::strtoull(wanted, nullptr, 10) : std::uint64_t{std::random_device{}()};
  }();
  return seed;
}

}  // namespace tundish
