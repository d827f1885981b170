// Reads blocks of metadata in an HDF5 file with bounds: every block is inside the file, and all
// blocks together are at most slightly larger than the file. A cycle of addresses therefore ends in
// a fault.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "data/source/formats/chunked/hdf5_heap.h"

namespace tundish {

inline constexpr std::uint64_t kHdf5Nowhere = ~0ull;  // address of data that were never stored

class Hdf5Blocks {
 public:
  Hdf5Blocks(std::uint64_t file_size, ReadAt read);

  std::uint64_t file_size() const { return file_size_; }

  // Counts bytes of the file as read. Faults: more bytes than the file can account for.
  std::optional<Fault> charge(std::uint64_t bytes, std::uint64_t offset);

  // Reads a block; nothing is allocated before its bounds are checked.
  std::optional<Fault> read(std::vector<std::byte>& out, std::uint64_t offset, std::uint64_t bytes);

  // Reads a block that starts with `signature` and ends with a checksum.
  std::optional<Fault> read_checked(std::vector<std::byte>& out, std::uint64_t offset,
                                    std::uint64_t bytes, std::string_view signature);

 private:
  std::uint64_t file_size_;
  std::uint64_t left_;  // remaining budget
  ReadAt read_;
};

Fault hdf5_damaged(const char* reason, std::uint64_t offset);

// Jenkins' lookup3 with initial value 0, which HDF5 stores behind metadata.
std::uint32_t hdf5_checksum(Bytes bytes);

// Loads a little-endian integer of 1 to 8 bytes.
std::uint64_t load_sized(const std::byte* from, std::size_t bytes);

}  // namespace tundish
