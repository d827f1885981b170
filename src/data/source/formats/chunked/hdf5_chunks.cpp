#include "data/source/formats/chunked/hdf5_chunks.h"

#include <algorithm>
#include <bit>

#include "data/source/format.h"
#include "data/source/formats/chunked/hdf5_chunk_list.h"

namespace tundish {
namespace {

constexpr std::uint64_t kMaxChunks = 1ull << 40;  // limit of chunk numbers, not of stored chunks

std::uint64_t chunks_along(std::uint64_t side, std::uint64_t chunk) {
  return side == 0 ? 0 : (side - 1) / chunk + 1;
}

std::optional<std::uint64_t> product(std::uint64_t a, std::uint64_t b) {
  std::uint64_t out = 0;
  if (__builtin_mul_overflow(a, b, &out)) return std::nullopt;
  return out;
}

// The values are stored chunk after chunk, without an index.
std::optional<Fault> read_implicit(Hdf5ChunkList& list, Hdf5Blocks& blocks) {
  const std::uint64_t start = list.layout().offset;
  const auto count = list.max_chunks();
  const auto bytes = count ? product(*count, list.chunk_bytes()) : std::nullopt;
  if (!bytes || start > blocks.file_size() || *bytes > blocks.file_size() - start) {
    return hdf5_damaged("chunks lead out of the file", start);
  }
  if (auto fault = blocks.charge(*bytes, start)) return fault;
  if (auto fault = list.number_by_max_shape({})) return fault;
  for (std::uint64_t c = 0; c < *count; ++c) {
    list.add(c, start + c * list.chunk_bytes(), list.chunk_bytes(), 0);
  }
  return std::nullopt;
}

std::optional<Fault> read_single(Hdf5ChunkList& list) {
  const Hdf5Layout& layout = list.layout();
  const std::vector<std::uint64_t> first(list.axes(), 0);
  list.add(first, layout.offset, layout.single_bytes ? layout.single_bytes : list.chunk_bytes(),
           layout.single_mask);
  return std::nullopt;
}

}  // namespace

std::optional<Fault> Hdf5ChunkList::start(const Hdf5Layout& layout, const Hdf5Extent& extent) {
  layout_ = &layout;
  const std::size_t axes = layout.chunk.size();
  if (extent.shape.size() != axes || extent.max_shape.size() != axes || axes == 0) {
    return hdf5_damaged("shape and chunks have different axes", 0);
  }
  std::uint64_t all = 1;
  chunk_bytes_ = layout.element_bytes;
  for (std::size_t a = 0; a < axes; ++a) {
    const auto bytes = product(chunk_bytes_, layout.chunk[a]);
    if (!bytes || *bytes == 0) return hdf5_damaged("a chunk has no elements or too many", 0);
    chunk_bytes_ = *bytes;
    counts_.push_back(chunks_along(extent.shape[a], layout.chunk[a]));
    max_counts_.push_back(extent.max_shape[a] == kHdf5Nowhere
                              ? kHdf5Nowhere
                              : chunks_along(extent.max_shape[a], layout.chunk[a]));
    if (counts_[a] > 0 && all > kMaxChunks / counts_[a]) {
      return unsupported_source("HDF5", "more than 2^40 chunks: use larger chunks");
    }
    all *= counts_[a];
  }
  // The bytes that the size needs, and one more for data that filters enlarge.
  const auto bits = static_cast<std::size_t>(std::bit_width(chunk_bytes_)) - 1;
  size_bytes_ = std::min<std::size_t>(1 + (bits + 8) / 8, 8);
  return std::nullopt;
}

std::optional<std::uint64_t> Hdf5ChunkList::max_chunks() const {
  std::optional<std::uint64_t> all = 1;
  for (const std::uint64_t count : max_counts_) {
    if (count == kHdf5Nowhere) return std::nullopt;
    if (all) all = product(*all, count);
  }
  return all;
}

void Hdf5ChunkList::add(std::span<const std::uint64_t> at, std::uint64_t offset,
                        std::uint64_t bytes, std::uint32_t mask) {
  if (offset == kHdf5Nowhere || bytes == 0) return;
  std::uint64_t number = 0;
  for (std::size_t a = 0; a < axes(); ++a) {
    if (at[a] >= counts_[a]) return;
    number = number * counts_[a] + at[a];
  }
  chunks_.push_back({number, offset, bytes, mask});
}

std::optional<Fault> Hdf5ChunkList::number_by_max_shape(std::optional<std::size_t> moved_first) {
  for (std::size_t a = 0; a < axes(); ++a) order_.push_back(a);
  if (moved_first) {
    const auto first = order_.begin() + static_cast<std::ptrdiff_t>(*moved_first);
    std::rotate(order_.begin(), first, first + 1);
  }
  strides_.assign(axes(), 1);
  for (std::size_t n = axes() - 1; n > 0; --n) {
    const auto stride = product(strides_[n], max_counts_[order_[n]]);
    if (!stride || *stride == 0 || max_counts_[order_[n]] == kHdf5Nowhere) {
      return hdf5_damaged("the largest shape does not fit the chunk index", layout_->offset);
    }
    strides_[n - 1] = *stride;
  }
  place_.assign(axes(), 0);
  return std::nullopt;
}

void Hdf5ChunkList::add(std::uint64_t number, std::uint64_t offset, std::uint64_t bytes,
                        std::uint32_t mask) {
  if (offset == kHdf5Nowhere) return;
  for (std::size_t n = 0; n < axes(); ++n) {
    place_[order_[n]] = number / strides_[n];
    number %= strides_[n];
  }
  add(place_, offset, bytes, mask);
}

Hdf5ChunkList::Entry Hdf5ChunkList::load_entry(const std::byte* entry, bool filtered) const {
  const auto offset = load<std::uint64_t>(entry);
  if (!filtered) return {offset, chunk_bytes_, 0};
  return {offset, load_sized(entry + 8, size_bytes_), load<std::uint32_t>(entry + 8 + size_bytes_)};
}

void Hdf5ChunkList::add_entry(std::uint64_t number, const std::byte* entry, bool filtered) {
  const Entry found = load_entry(entry, filtered);
  add(number, found.offset, found.bytes, found.mask);
}

void Hdf5ChunkList::add_entry(std::span<const std::uint64_t> at, const std::byte* entry,
                              bool filtered) {
  const Entry found = load_entry(entry, filtered);
  add(at, found.offset, found.bytes, found.mask);
}

std::optional<Fault> Hdf5ChunkList::finish(std::vector<Hdf5Chunk>& out) {
  const auto before = [](const Hdf5Chunk& a, const Hdf5Chunk& b) { return a.number < b.number; };
  if (!std::is_sorted(chunks_.begin(), chunks_.end(), before)) {
    std::sort(chunks_.begin(), chunks_.end(), before);
  }
  const auto same = [](const Hdf5Chunk& a, const Hdf5Chunk& b) { return a.number == b.number; };
  const auto twice = std::adjacent_find(chunks_.begin(), chunks_.end(), same);
  if (twice != chunks_.end()) return hdf5_damaged("a chunk is indexed twice", twice->offset);
  out = std::move(chunks_);
  return std::nullopt;
}

std::optional<Fault> read_hdf5_chunks(std::vector<Hdf5Chunk>& out, Hdf5Blocks& blocks,
                                      const Hdf5Layout& layout, const Hdf5Extent& extent) {
  out.clear();
  Hdf5ChunkList list;
  if (auto fault = list.start(layout, extent)) return fault;
  const auto& counts = list.counts();
  const bool empty = std::find(counts.begin(), counts.end(), 0u) != counts.end();
  if (layout.offset == kHdf5Nowhere || empty) return std::nullopt;
  std::optional<Fault> fault;
  switch (layout.index) {
    case Hdf5IndexKind::btree_1:
      fault = read_btree_1(list, blocks);
      break;
    case Hdf5IndexKind::single_chunk:
      fault = read_single(list);
      break;
    case Hdf5IndexKind::implicit:
      fault = read_implicit(list, blocks);
      break;
    case Hdf5IndexKind::fixed_array:
      fault = read_fixed_array(list, blocks);
      break;
    case Hdf5IndexKind::extensible_array:
      fault = read_extensible_array(list, blocks, extent);
      break;
    case Hdf5IndexKind::btree_2:
      fault = read_btree_2(list, blocks);
      break;
  }
  return fault ? fault : list.finish(out);
}

void mark_unfiltered_edges(std::vector<Hdf5Chunk>& chunks, const Hdf5Layout& layout,
                           const Hdf5Extent& extent) {
  if (!layout.edges_unfiltered) return;
  for (Hdf5Chunk& chunk : chunks) {
    std::uint64_t rest = chunk.number;
    for (std::size_t a = layout.chunk.size(); a > 0; --a) {
      const std::uint64_t side = extent.shape[a - 1], step = layout.chunk[a - 1];
      const std::uint64_t count = chunks_along(side, step);
      if (rest % count == count - 1 && side % step != 0) chunk.mask = ~0u;
      rest /= count;
    }
  }
}

}  // namespace tundish
