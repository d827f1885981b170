// What some sources also are: those that take much memory besides the samples that they read
// (arrays in chunks). A loader with a budget asks for it, and limits it.
#pragma once

#include <cstdint>

#include "data/source/source.h"

namespace tundish {

class ReadMemory {
 public:
  virtual ~ReadMemory() = default;

  // About what one call of read() takes besides the bytes that it gives.
  virtual std::uint64_t memory_while_reading() const = 0;

  // From now on Source::memory() is at most so many bytes, as far as the source can keep less.
  virtual void keep_at_most(std::uint64_t bytes) const = 0;
};

inline std::uint64_t memory_while_reading(const Source& source) {
  const auto* const of = dynamic_cast<const ReadMemory*>(&source);
  return of ? of->memory_while_reading() : 0;
}

inline void keep_at_most(const Source& source, std::uint64_t bytes) {
  if (const auto* const of = dynamic_cast<const ReadMemory*>(&source)) of->keep_at_most(bytes);
}

}  // namespace tundish
