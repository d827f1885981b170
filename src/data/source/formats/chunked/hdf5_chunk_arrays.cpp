// Chunk indexes that are arrays of entries: fixed, or extensible along one unlimited axis.
#include <algorithm>
#include <bit>

#include "data/source/formats/chunked/hdf5_chunk_list.h"

namespace tundish {
namespace {

// Bit 0 is the highest bit of the first byte.
bool bit_at(const std::byte* bits, std::uint64_t n) {
  return (bits[n / 8] & (std::byte{0x80} >> static_cast<int>(n % 8))) != std::byte{0};
}

// Common to both arrays: entries of one size in blocks, each with the address of the header.
class ArrayReader {
 public:
  ArrayReader(Hdf5ChunkList& list, Hdf5Blocks& blocks) : list_(list), blocks_(blocks) {}

 protected:
  std::optional<Fault> read_header(std::vector<std::byte>& out, std::size_t bytes,
                                   std::string_view signature) {
    const std::uint64_t at = list_.layout().offset;
    if (auto fault = blocks_.read_checked(out, at, bytes, signature)) return fault;
    filtered_ = out[5] == std::byte{1};
    entry_ = std::to_integer<std::size_t>(out[6]);
    if (out[4] != std::byte{0} || out[5] > std::byte{1} || entry_ != list_.entry_bytes(filtered_)) {
      return hdf5_damaged("a chunk index has unknown entries", at);
    }
    return std::nullopt;
  }

  void add(const std::byte* from, std::uint64_t first, std::uint64_t count) {
    for (std::uint64_t e = 0; e < count; ++e) {
      list_.add_entry(first + e, from + e * entry_, filtered_);
    }
  }

  // Reads a page: entries and a checksum.
  std::optional<Fault> read_page(std::uint64_t at, std::uint64_t first, std::uint64_t count) {
    std::vector<std::byte> page;
    if (auto fault = blocks_.read_checked(page, at, count * entry_ + 4, "")) return fault;
    add(page.data(), first, count);
    return std::nullopt;
  }

  // Returns true if the file can hold so many entries, so that products with their size are small.
  bool fits(std::uint64_t entries) const { return entries <= blocks_.file_size() / entry_; }

  Hdf5ChunkList& list_;
  Hdf5Blocks& blocks_;
  bool filtered_ = false;
  std::size_t entry_ = 0;  // bytes
};

// Header: "FAHD", version, client, bytes of an entry, bits of a page's entries, entries and address
// of the block (64 bits each), checksum. Block: "FADB", version, client, address of the header;
// then either the entries and a checksum, or a bit for every page, a checksum and the pages.
class FixedArrayReader : ArrayReader {
 public:
  using ArrayReader::ArrayReader;

  std::optional<Fault> read() {
    const std::uint64_t header = list_.layout().offset;
    std::vector<std::byte> head;
    if (auto fault = read_header(head, 28, "FAHD")) return fault;
    const auto page_bits = std::to_integer<unsigned>(head[7]);
    const auto count = load<std::uint64_t>(head.data() + 8);
    const auto at = load<std::uint64_t>(head.data() + 16);
    if (page_bits > 40 || !fits(count)) {
      return hdf5_damaged("a chunk index has more entries than the file", header);
    }
    if (auto fault = list_.number_by_max_shape({})) return fault;
    if (at == kHdf5Nowhere || count == 0) return std::nullopt;
    const std::uint64_t in_page = 1ull << page_bits;
    std::vector<std::byte> block;
    if (count <= in_page) {
      if (auto fault = blocks_.read_checked(block, at, kPrefix + count * entry_ + 4, "FADB")) {
        return fault;
      }
      add(block.data() + kPrefix, 0, count);
      return std::nullopt;
    }
    const std::uint64_t pages = (count - 1) / in_page + 1;
    const std::uint64_t size = kPrefix + (pages + 7) / 8 + 4;
    if (auto fault = blocks_.read_checked(block, at, size, "FADB")) return fault;
    for (std::uint64_t p = 0; p < pages; ++p) {
      if (!bit_at(block.data() + kPrefix, p)) continue;
      const std::uint64_t first = p * in_page;
      const std::uint64_t place = at + size + p * (in_page * entry_ + 4);
      if (auto fault = read_page(place, first, std::min(in_page, count - first))) return fault;
    }
    return std::nullopt;
  }

 private:
  static constexpr std::size_t kPrefix = 14;
};

// Super block s has 2^(s / 2) data blocks of 2^((s + 1) / 2) times the least entries. The first
// super blocks are not stored: the index block has the addresses of their data blocks.
class ExtensibleArrayReader : ArrayReader {
 public:
  using ArrayReader::ArrayReader;

  std::optional<Fault> read(const Hdf5Extent& extent) {
    if (auto fault = read_parameters()) return fault;
    const auto unlimited =
        std::count(extent.max_shape.begin(), extent.max_shape.end(), kHdf5Nowhere);
    const auto axis = std::find(extent.max_shape.begin(), extent.max_shape.end(), kHdf5Nowhere);
    if (unlimited != 1) {
      return hdf5_damaged("an extensible index needs one unlimited axis", list_.layout().offset);
    }
    const auto slowest = static_cast<std::size_t>(axis - extent.max_shape.begin());
    if (auto fault = list_.number_by_max_shape(slowest)) return fault;
    return index_ == kHdf5Nowhere ? std::nullopt : read_index_block();
  }

 private:
  static constexpr std::size_t kPrefix = 14;

  // Header: "EAHD", version, client, bytes of an entry, the five parameters (8 bits each), six
  // statistics and the address of the index block (64 bits each), checksum.
  std::optional<Fault> read_parameters() {
    std::vector<std::byte> head;
    if (auto fault = read_header(head, 72, "EAHD")) return fault;
    const auto number = [&](std::size_t at) { return std::to_integer<unsigned>(head[at]); };
    const unsigned bits = number(7), least = number(9), pointers = number(10);
    const unsigned page_bits = number(11);
    in_index_ = number(8);
    if (bits > 64 || page_bits > 40 || !std::has_single_bit(least) ||
        !std::has_single_bit(pointers) || static_cast<int>(bits) < std::countr_zero(least)) {
      return hdf5_damaged("a chunk index has impossible parameters", list_.layout().offset);
    }
    least_ = least;
    in_page_ = 1ull << page_bits;
    offset_bytes_ = (bits + 7) / 8;
    super_blocks_ = 1 + bits - static_cast<unsigned>(std::countr_zero(least));
    direct_ = 2 * static_cast<unsigned>(std::countr_zero(pointers));
    if (direct_ > super_blocks_) {
      return hdf5_damaged("a chunk index has impossible parameters", list_.layout().offset);
    }
    index_ = load<std::uint64_t>(head.data() + 60);
    return std::nullopt;
  }

  std::uint64_t data_blocks(unsigned super) const { return 1ull << (super / 2); }
  std::uint64_t entries(unsigned super) const { return least_ << ((super + 1) / 2); }

  // Index block: "EAIB", version, client, address of the header, the first entries, addresses of
  // data blocks and of super blocks, checksum.
  std::optional<Fault> read_index_block() {
    std::uint64_t addresses = super_blocks_ - direct_;
    for (unsigned s = 0; s < direct_; ++s) addresses += data_blocks(s);
    std::vector<std::byte> block;
    const std::uint64_t size = kPrefix + in_index_ * entry_ + 8 * addresses + 4;
    if (auto fault = blocks_.read_checked(block, index_, size, "EAIB")) return fault;
    add(block.data() + kPrefix, 0, in_index_);
    std::uint64_t first = in_index_;
    const std::byte* from = block.data() + kPrefix + in_index_ * entry_;
    for (unsigned s = 0; s < super_blocks_; ++s) {
      if (s >= direct_) {
        if (auto fault = read_super_block(load<std::uint64_t>(from), s, first)) return fault;
        from += 8;
        first += data_blocks(s) * entries(s);  // overflows only behind every chunk
        continue;
      }
      for (std::uint64_t d = 0; d < data_blocks(s); ++d, from += 8, first += entries(s)) {
        if (auto fault = read_data_block(load<std::uint64_t>(from), s, first)) return fault;
      }
    }
    return std::nullopt;
  }

  // Super block: "EASB", version, client, address of the header, number of its first entry, a bit
  // for every page of its data blocks, addresses of the data blocks, checksum.
  std::optional<Fault> read_super_block(std::uint64_t at, unsigned super, std::uint64_t first) {
    if (at == kHdf5Nowhere) return std::nullopt;
    const std::uint64_t count = data_blocks(super);
    const std::uint64_t pages = pages_of(super);
    if (!fits(count) || !fits(entries(super)) || pages / 8 > blocks_.file_size() / count) {
      return hdf5_damaged("a chunk index has more entries than the file", at);
    }
    const std::uint64_t bitmap = count * ((pages + 7) / 8);
    const std::uint64_t prefix = kPrefix + offset_bytes_;
    std::vector<std::byte> block;
    if (auto fault = blocks_.read_checked(block, at, prefix + bitmap + 8 * count + 4, "EASB")) {
      return fault;
    }
    const std::byte* bits = block.data() + prefix;
    for (std::uint64_t d = 0; d < count; ++d) {
      const auto place = load<std::uint64_t>(bits + bitmap + 8 * d);
      const std::uint64_t number = first + d * entries(super);
      if (place == kHdf5Nowhere) continue;
      if (pages == 0) {
        if (auto fault = read_data_block(place, super, number)) return fault;
        continue;
      }
      for (std::uint64_t p = 0; p < pages; ++p) {
        if (!bit_at(bits, d * pages + p)) continue;
        const std::uint64_t page = place + prefix + 4 + p * (in_page_ * entry_ + 4);
        if (auto fault = read_page(page, number + p * in_page_, in_page_)) return fault;
      }
    }
    return std::nullopt;
  }

  // Returns 0 if the entries are not in pages.
  std::uint64_t pages_of(unsigned super) const {
    return entries(super) > in_page_ ? entries(super) / in_page_ : 0;
  }

  // Data block: "EADB", version, client, address of the header, number of its first entry, entries,
  // checksum.
  std::optional<Fault> read_data_block(std::uint64_t at, unsigned super, std::uint64_t first) {
    if (at == kHdf5Nowhere) return std::nullopt;
    const std::uint64_t count = entries(super);
    if (!fits(count) || pages_of(super) != 0) {
      return hdf5_damaged("a chunk index has more entries than the file", at);
    }
    const std::uint64_t prefix = kPrefix + offset_bytes_;
    std::vector<std::byte> block;
    if (auto fault = blocks_.read_checked(block, at, prefix + count * entry_ + 4, "EADB")) {
      return fault;
    }
    add(block.data() + prefix, first, count);
    return std::nullopt;
  }

  std::uint64_t index_ = kHdf5Nowhere;  // address of the index block
  std::uint64_t least_ = 1;             // entries in the smallest data block
  std::uint64_t in_index_ = 0;          // entries in the index block
  std::uint64_t in_page_ = 1;
  std::size_t offset_bytes_ = 0;  // size of an entry's number
  unsigned super_blocks_ = 0;
  unsigned direct_ = 0;  // super blocks whose data blocks are in the index block
};

}  // namespace

std::optional<Fault> read_fixed_array(Hdf5ChunkList& list, Hdf5Blocks& blocks) {
  return FixedArrayReader(list, blocks).read();
}

std::optional<Fault> read_extensible_array(Hdf5ChunkList& list, Hdf5Blocks& blocks,
                                           const Hdf5Extent& extent) {
  return ExtensibleArrayReader(list, blocks).read(extent);
}

}  // namespace tundish
