// Chunk indexes that are trees: version 1 (the usual one) and version 2 (several unlimited axes).
#include <algorithm>
#include <bit>
#include <string_view>

#include "data/source/formats/chunked/hdf5_chunk_list.h"

namespace tundish {
namespace {

// A node: "TREE", type 1, level, number of children (16 bits), two siblings (64 bits each), then
// key, child, key, child, ..., key. A key: bytes of the chunk and filter mask (32 bits each), and
// 64-bit offsets for every axis and for the element.
class TreeReader {
 public:
  TreeReader(Hdf5ChunkList& list, Hdf5Blocks& blocks)
      : list_(list), blocks_(blocks), key_(8 + 8 * (list.axes() + 1)), place_(list.axes()) {}

  // `level`: level according to the parent; -1: any.
  std::optional<Fault> read(std::uint64_t at, int level) {
    constexpr std::size_t kHead = 24;
    std::vector<std::byte> node;
    if (auto fault = blocks_.read(node, at, kHead)) return fault;
    const int found = std::to_integer<int>(node[5]);
    const std::string_view start(reinterpret_cast<const char*>(node.data()), 5);
    if (start != std::string_view("TREE\x01", 5) || (level >= 0 && found != level)) {
      return hdf5_damaged("there is no node of a chunk index", at);
    }
    const std::size_t children = load<std::uint16_t>(node.data() + 6);
    if (children == 0) return std::nullopt;
    if (auto fault = blocks_.read(node, at + kHead, children * (key_ + 8) + key_)) return fault;
    for (std::size_t c = 0; c < children; ++c) {
      const std::byte* key = node.data() + c * (key_ + 8);
      const auto child = load<std::uint64_t>(key + key_);
      // Levels decrease by one, so the recursion is at most 256 deep.
      auto fault = found > 0 ? read(child, found - 1) : add(key, child, at);
      if (fault) return fault;
    }
    return std::nullopt;
  }

 private:
  std::optional<Fault> add(const std::byte* key, std::uint64_t child, std::uint64_t at) {
    for (std::size_t a = 0; a < place_.size(); ++a) {
      const auto offset = load<std::uint64_t>(key + 8 + 8 * a);
      const std::uint64_t side = list_.layout().chunk[a];
      if (offset % side != 0) return hdf5_damaged("a chunk is not on the grid", at);
      place_[a] = offset / side;
    }
    list_.add(place_, child, load<std::uint32_t>(key), load<std::uint32_t>(key + 4));
    return std::nullopt;
  }

  Hdf5ChunkList& list_;
  Hdf5Blocks& blocks_;
  std::size_t key_;  // bytes
  std::vector<std::uint64_t> place_;
};

// Returns the bytes that store a number up to `limit`.
std::size_t bytes_for(std::uint64_t limit) {
  return (static_cast<std::size_t>(std::bit_width(std::max<std::uint64_t>(limit, 1))) - 1) / 8 + 1;
}

std::uint64_t saturated(std::uint64_t a, std::uint64_t b, std::uint64_t more) {
  std::uint64_t out = 0;
  if (__builtin_mul_overflow(a, b, &out) || __builtin_add_overflow(out, more, &out)) return ~0ull;
  return out;
}

// Nodes have one size. A leaf: "BTLF", version, type, records, checksum. An inner node: "BTIN",
// version, type, records. For each child, of which there is one more than records: its address, its
// number of records and, unless it is a leaf, the number of all records below; then a checksum. A
// record is an array entry (hdf5_chunk_list.h) and the 64-bit chunk coordinates.
class Tree2Reader {
 public:
  Tree2Reader(Hdf5ChunkList& list, Hdf5Blocks& blocks)
      : list_(list), blocks_(blocks), place_(list.axes()) {}

  std::optional<Fault> read() {
    constexpr std::size_t kHeader = 38, kMaxDepth = 32;
    const std::uint64_t at = list_.layout().offset;
    std::vector<std::byte> head;
    if (auto fault = blocks_.read_checked(head, at, kHeader, "BTHD")) return fault;
    type_ = head[5];
    filtered_ = type_ == std::byte{11};
    const std::uint64_t node = load<std::uint32_t>(head.data() + 6);
    record_ = load<std::uint16_t>(head.data() + 10);
    const std::size_t depth = load<std::uint16_t>(head.data() + 12);
    if (head[4] != std::byte{0} || (!filtered_ && type_ != std::byte{10}) || depth > kMaxDepth ||
        record_ != list_.entry_bytes(filtered_) + 8 * list_.axes()) {
      return hdf5_damaged("a chunk index has unknown records", at);
    }
    if (node < kOverhead + record_) return hdf5_damaged("a chunk index has small nodes", at);
    std::uint64_t most = (node - kOverhead) / record_;  // records per node
    count_bytes_ = bytes_for(most);
    below_.push_back(0);
    std::uint64_t all = most;  // records in a node and below
    for (std::size_t level = 1; level <= depth; ++level) {
      const std::uint64_t pointer = 8 + count_bytes_ + below_.back();
      if (node < kOverhead + pointer) return hdf5_damaged("a chunk index has small nodes", at);
      most = (node - kOverhead - pointer) / (record_ + pointer);
      all = saturated(most + 1, all, most);
      below_.push_back(bytes_for(all));
    }
    const std::size_t records = load<std::uint16_t>(head.data() + 24);
    const auto root = load<std::uint64_t>(head.data() + 16);
    if (root == kHdf5Nowhere) return std::nullopt;
    return read_node(root, records, depth);
  }

 private:
  static constexpr std::size_t kOverhead = 10;

  std::optional<Fault> read_node(std::uint64_t at, std::uint64_t records, std::size_t level) {
    const std::size_t pointer = level == 0 ? 0 : 8 + count_bytes_ + below_[level - 1];
    // No number here exceeds 64 bits: records are numbers of at most 8 bytes, checked against the
    // file's size.
    if (records > blocks_.file_size() / record_) {
      return hdf5_damaged("a node has more records than the file", at);
    }
    std::vector<std::byte> node;
    const std::uint64_t size = kOverhead + records * record_ + (level ? records + 1 : 0) * pointer;
    if (auto fault = blocks_.read_checked(node, at, size, level == 0 ? "BTLF" : "BTIN")) {
      return fault;
    }
    if (node[5] != type_) return hdf5_damaged("a node belongs to another index", at);
    const std::byte* from = node.data() + 6;
    for (std::uint64_t r = 0; r < records; ++r, from += record_) {
      const std::byte* place = from + list_.entry_bytes(filtered_);
      for (std::size_t a = 0; a < place_.size(); ++a) {
        place_[a] = load<std::uint64_t>(place + 8 * a);
      }
      list_.add_entry(place_, from, filtered_);
    }
    for (std::uint64_t c = 0; level > 0 && c <= records; ++c, from += pointer) {
      const auto child = load<std::uint64_t>(from);
      if (auto fault = read_node(child, load_sized(from + 8, count_bytes_), level - 1)) {
        return fault;
      }
    }
    return std::nullopt;
  }

  Hdf5ChunkList& list_;
  Hdf5Blocks& blocks_;
  std::byte type_{};
  bool filtered_ = false;
  std::size_t record_ = 0;          // bytes
  std::size_t count_bytes_ = 0;     // size of a child's number of records
  std::vector<std::size_t> below_;  // by level: size of the number of all records below
  std::vector<std::uint64_t> place_;
};

}  // namespace

std::optional<Fault> read_btree_1(Hdf5ChunkList& list, Hdf5Blocks& blocks) {
  return TreeReader(list, blocks).read(list.layout().offset, -1);
}

std::optional<Fault> read_btree_2(Hdf5ChunkList& list, Hdf5Blocks& blocks) {
  return Tree2Reader(list, blocks).read();
}

}  // namespace tundish
