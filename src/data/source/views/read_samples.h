// Samples of a source, each once, on several threads where the source can be read by number.
#pragma once

#include <functional>
#include <span>

#include "data/source/source.h"

namespace tundish {

struct ReadWork {
  FieldSet fields = kAllFields;
  int threads = 0;  // 0: as many as may be used
  std::function<void(std::uint64_t done, std::uint64_t all)> progress = {};  // calling thread
  // Any thread, in any order; k is the place of sample i in `numbers`. Different k at one time.
  std::function<void(std::size_t k, std::uint64_t i, Sample& sample)> visit;
  std::function<void(std::size_t k, std::uint64_t i, const SampleError& error)> bad;
};

// `numbers`: ascending. The bytes are those of read_original(). Throws Error, and what visit() or
// bad() throws; Error(interrupted) when the calling thread is asked to stop.
void read_samples(const Source& source, std::span<const std::uint64_t> numbers,
                  const ReadWork& work);

}  // namespace tundish
