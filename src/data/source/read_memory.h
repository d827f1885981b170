// Interface of sources that take much memory besides the samples being read (chunked arrays). A
// loader with a budget queries and limits this memory.
#pragma once

#include <cstdint>

#include "data/source/source.h"

namespace tundish {

class ReadMemory {
 public:
  virtual ~ReadMemory() = default;

  // Returns the approximate memory of one read() call besides the bytes that it returns.
  virtual std::uint64_t memory_while_reading() const = 0;

  // Limits Source::memory() to `bytes` from now on, as far as the source supports less.
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
