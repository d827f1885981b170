// Reads samples of a source once each, on several threads if it can be read by number.
#pragma once

#include <functional>
#include <span>

#include "data/source/source.h"

namespace tundish {

struct ReadWork {
  FieldSet fields = kAllFields;
  int threads = 0;                                                           // 0: all usable CPUs
  std::function<void(std::uint64_t done, std::uint64_t all)> progress = {};  // calling thread
  // Any thread, in any order; k is the index of sample i in `numbers`, distinct per call.
  std::function<void(std::size_t k, std::uint64_t i, Sample& sample)> visit;
  std::function<void(std::size_t k, std::uint64_t i, const SampleError& error)> bad;
};

// `numbers`: ascending. Returns bytes as read_original() does. Throws Error, and exceptions of
// visit() or bad(); Error(interrupted) if the calling thread is asked to stop.
void read_samples(const Source& source, std::span<const std::uint64_t> numbers,
                  const ReadWork& work);

}  // namespace tundish
