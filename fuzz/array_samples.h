// What every fuzz target of array files asks of a set that was opened: samples can be read, or
// their errors have a code. Few samples, so that large counts take no time.
#pragma once

#include <cstdlib>

#include "data/source/arrays/stored_array_source.h"

namespace tundish {

inline void require(bool claim) {
  if (!claim) std::abort();
}

inline void read_some(ArraySet set) {
  for (const StoredArray& array : set.arrays) {
    require(array.count <= kMaxSamples && array_bytes(array.type).has_value());
    require(array.count == 0 || !array.pieces.empty());
  }
  try {
    const auto source = open_stored_arrays(std::move(set), {});
    require(source->count() > 0 && source->schema().fields.size() <= kMaxFields);
    Sample sample;
    for (const std::uint64_t i : {std::uint64_t{0}, source->count() / 2, source->count() - 1}) {
      if (source->bytes(i) > (1 << 20)) continue;
      source->read(sample, i);
      std::uint64_t bytes = 0;
      for (const auto& field : sample.fields) bytes += field.size();
      require(bytes == source->bytes(i));
    }
  } catch (const Error& error) {
    require(find_error(error.code()) != nullptr);
    require(error.code() != ErrorCode::source_changed);  // what is in memory does not change
  }
}

inline SharedStore store_of(const std::uint8_t* data, std::size_t size) {
  const auto* from = reinterpret_cast<const std::byte*>(data);
  return std::make_shared<ByteStore>(std::vector<std::byte>(from, from + size), "fuzz");
}

}  // namespace tundish
