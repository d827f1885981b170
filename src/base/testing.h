// Helpers that the tests of every folder share: the seed of random tests, the instruction sets, and
// the amount of work under sanitizers.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <random>
#include <vector>

#include "base/machine/cpu.h"
#include "base/random.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TUNDISH_SLOW_BUILD
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TUNDISH_SLOW_BUILD
#endif
#endif

namespace tundish {

// Returns the step of a loop over all cases. Sanitized code is 5 to 15 times slower and tries one
// case in n; the release build tries all. Loops of random rounds divide their count by this step.
template <class Integer>
constexpr Integer one_in(Integer n) {
#ifdef TUNDISH_SLOW_BUILD
  return n;
#else
  return static_cast<Integer>(n / n);
#endif
}

// Returns one seed for the whole run, different in every run. unit_tests prints the seed first, so
// that a crashing run has printed it too. TUNDISH_TEST_SEED=N repeats a run with the seed N.
inline std::uint64_t test_seed() {
  static const std::uint64_t seed = [] {
    const char* wanted = std::getenv("TUNDISH_TEST_SEED");
    return wanted ? std::strtoull(wanted, nullptr, 10) : std::uint64_t{std::random_device{}()};
  }();
  return seed;
}

inline int between(Random& random, int low, int high) {
  return low + static_cast<int>(random.below(static_cast<std::uint64_t>(high - low) + 1));
}

// Returns every instruction set of this machine, scalar code first.
inline std::vector<Cpu> all_cpus() {
  std::vector<Cpu> cpus;
  for (int level = 0; level <= static_cast<int>(best_cpu()); ++level) {
    cpus.push_back(static_cast<Cpu>(level));
  }
  return cpus;
}

// FNV-1a: a digest that Python can compute too.
inline std::uint64_t digest(const std::vector<std::uint8_t>& bytes) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const std::uint8_t byte : bytes) hash = (hash ^ byte) * 0x100000001b3u;
  return hash;
}

}  // namespace tundish
