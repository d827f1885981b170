// HDF5's global heap, where byte strings of variable length are: collections of numbered objects.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "data/source/chunks/decompress_chunk.h"

namespace tundish {

// What an element of such an array holds in the file: 16 bytes.
struct Hdf5Reference {
  std::uint32_t bytes = 0;
  std::uint64_t collection = 0;  // where in the file; 0 bytes: not used
  std::uint32_t object = 0;
};
inline constexpr std::size_t kHdf5ReferenceBytes = 16;
Hdf5Reference load_hdf5_reference(const std::byte* from);

// Fills `out` from this place of the file; false when the file ends before.
using ReadAt = std::function<bool(ByteSpan out, std::uint64_t offset)>;

// Where the object is in the file; it has reference.bytes bytes or more. Any bytes: reads at most
// 65,536 heads of objects, forwards only.
std::optional<Fault> find_heap_object(std::uint64_t& offset, const Hdf5Reference& reference,
                                      std::uint64_t file_size, const ReadAt& read);

}  // namespace tundish
