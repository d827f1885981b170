// Randomness as a function: the same key yields the same numbers on any thread, at any time.
// Counter-based and stateless: number j of a stream is mix(stream + j * odd constant).
#pragma once

#include <cstdint>

namespace tundish {

// A bijection of 64-bit words in which flipping one input bit flips half of the output bits
// (the finalizer of SplitMix64).
constexpr std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

constexpr std::uint64_t mix(std::uint64_t key, std::uint64_t word) {
  return mix(mix(key + 0x9e3779b97f4a7c15u) ^ word);
}

// Identifies one stream of random numbers: one operation on one view of one draw.
struct Key {
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;
  std::uint64_t sample = 0;
  std::uint64_t repeat = 0;
  std::uint32_t view = 0;
};

class Random {
 public:
  constexpr Random(const Key& key, std::uint64_t operation)
      : stream_(mix(mix(mix(mix(mix(mix(key.seed), key.epoch), key.sample), key.repeat), key.view),
                    operation)) {}

  constexpr std::uint64_t next() { return mix(stream_ + 0x9e3779b97f4a7c15u * ++count_); }

  // Uniform in [0, 1), 53 bits.
  constexpr double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

  // Uniform in [low, high).
  constexpr double uniform(double low, double high) { return low + (high - low) * uniform(); }

  // Uniform in 0 .. bound-1, with a bias below bound / 2^64. bound must not be 0.
  constexpr std::uint64_t below(std::uint64_t bound) {
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(next()) * bound) >> 64);
  }

 private:
  std::uint64_t stream_;
  std::uint64_t count_ = 0;
};

}  // namespace tundish
