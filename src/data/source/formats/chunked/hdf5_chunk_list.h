// Shared by the readers of chunk indexes (hdf5_chunks.h): the grid, and the list of chunks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "data/source/formats/chunked/hdf5_chunks.h"

namespace tundish {

class Hdf5ChunkList {
 public:
  // Checks the sizes. Must be called first.
  std::optional<Fault> start(const Hdf5Layout& layout, const Hdf5Extent& extent);

  std::size_t axes() const { return counts_.size(); }
  std::uint64_t chunk_bytes() const { return chunk_bytes_; }  // without filters
  const Hdf5Layout& layout() const { return *layout_; }
  const std::vector<std::uint64_t>& counts() const { return counts_; }  // chunks per axis
  // Returns the number of chunks in the largest shape; empty if unlimited or over 64 bits.
  std::optional<std::uint64_t> max_chunks() const;

  // `at`: chunk coordinates. Ignores chunks that were never stored or are outside of the shape.
  void add(std::span<const std::uint64_t> at, std::uint64_t offset, std::uint64_t bytes,
           std::uint32_t mask);

  // For indexes that number the chunks of the largest shape in C order. With `moved_first`, that
  // axis becomes the slowest in the order.
  std::optional<Fault> number_by_max_shape(std::optional<std::size_t> moved_first);
  void add(std::uint64_t number, std::uint64_t offset, std::uint64_t bytes, std::uint32_t mask);

  // Size of an array entry: the address, and with filters also the bytes and the mask.
  std::size_t entry_bytes(bool filtered) const { return filtered ? 12 + size_bytes_ : 8; }
  void add_entry(std::uint64_t number, const std::byte* entry, bool filtered);
  void add_entry(std::span<const std::uint64_t> at, const std::byte* entry, bool filtered);

  std::optional<Fault> finish(std::vector<Hdf5Chunk>& out);

 private:
  struct Entry {
    std::uint64_t offset, bytes;
    std::uint32_t mask;
  };
  Entry load_entry(const std::byte* entry, bool filtered) const;

  const Hdf5Layout* layout_ = nullptr;
  std::vector<std::uint64_t> counts_, max_counts_;
  std::vector<std::size_t> order_;      // axes, slowest first
  std::vector<std::uint64_t> strides_;  // per axis of order_, in numbers
  std::vector<std::uint64_t> place_;
  std::uint64_t chunk_bytes_ = 0;
  std::size_t size_bytes_ = 0;  // bytes that store the size of a filtered chunk
  std::vector<Hdf5Chunk> chunks_;
};

std::optional<Fault> read_btree_1(Hdf5ChunkList& list, Hdf5Blocks& blocks);
std::optional<Fault> read_btree_2(Hdf5ChunkList& list, Hdf5Blocks& blocks);
std::optional<Fault> read_fixed_array(Hdf5ChunkList& list, Hdf5Blocks& blocks);
std::optional<Fault> read_extensible_array(Hdf5ChunkList& list, Hdf5Blocks& blocks,
                                           const Hdf5Extent& extent);

}  // namespace tundish
