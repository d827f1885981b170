// HDF5's global heap with byte strings of variable length: collections of numbered objects.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "data/source/chunks/decompress_chunk.h"

namespace tundish {

// An element of such an array in the file: 16 bytes.
struct Hdf5Reference {
  std::uint32_t bytes = 0;
  std::uint64_t collection = 0;  // file offset of the collection; unused for 0 bytes
  std::uint32_t object = 0;
};
inline constexpr std::size_t kHdf5ReferenceBytes = 16;
Hdf5Reference load_hdf5_reference(const std::byte* from);

// Fills `out` from this offset of the file; false if the file ends before.
using ReadAt = std::function<bool(ByteSpan out, std::uint64_t offset)>;

// Finds the file offset of an object, which has at least reference.bytes bytes. Accepts any bytes.
// Reads at most 65,536 heads of objects, in ascending order.
std::optional<Fault> find_heap_object(std::uint64_t& offset, const Hdf5Reference& reference,
                                      std::uint64_t file_size, const ReadAt& read);

}  // namespace tundish
