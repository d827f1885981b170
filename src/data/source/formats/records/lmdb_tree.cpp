#include "data/source/formats/records/lmdb_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <string>

#include "data/source/format.h"
#include "data/source/formats/records/record_index.h"

namespace tundish {
namespace {

constexpr std::uint32_t kMagic = 0xbeefc0de;
constexpr std::size_t kHead = 16;     // page head: number, padding, flags, bounds
constexpr std::size_t kNodeHead = 8;  // entry head: size or page, flags, bytes of the key
constexpr std::size_t kMetaBytes = 152;
constexpr std::uint16_t kBranch = 1, kLeaf = 2, kOverflow = 4, kMeta = 8, kLeaf2 = 0x20;
constexpr std::uint16_t kBigData = 1, kSubData = 2, kDupData = 4;
constexpr std::uint16_t kDupFlags = 0x04 | 0x10 | 0x20 | 0x40;  // DUPSORT and flags that require it
constexpr std::uint64_t kNoPage = ~std::uint64_t{0};
constexpr std::size_t kMaxDepth = 32;                      // limit of LMDB itself
constexpr std::uint32_t kMinPage = 256, kMaxPage = 32768;  // kMaxPage is LMDB's own limit
constexpr std::uint64_t kMaxPages = 1ull << 31;            // 8 TiB with the usual 4,096 bytes

Fault damaged(std::string reason, std::uint64_t offset) {
  return damaged_source("LMDB", std::move(reason), offset);
}

struct Meta {
  std::uint32_t version = 0, page_size = 0;
  std::uint16_t flags = 0;
  std::uint64_t entries = 0, root = 0, last_page = 0, transaction = 0;
};

std::optional<Meta> parse_meta(Bytes page) {
  if (page.size() < kMetaBytes) return std::nullopt;
  const std::byte* p = page.data();
  if ((load<std::uint16_t>(p + 10) & kMeta) == 0 || load<std::uint32_t>(p + 16) != kMagic) {
    return std::nullopt;
  }
  return Meta{.version = load<std::uint32_t>(p + 20),
              .page_size = load<std::uint32_t>(p + 40),
              .flags = load<std::uint16_t>(p + 92),
              .entries = load<std::uint64_t>(p + 120),
              .root = load<std::uint64_t>(p + 128),
              .last_page = load<std::uint64_t>(p + 136),
              .transaction = load<std::uint64_t>(p + 144)};
}

bool plausible(const Meta& meta) {
  return meta.version == 1 && meta.page_size >= kMinPage && meta.page_size <= kMaxPage &&
         std::has_single_bit(meta.page_size) && meta.last_page > 0 && meta.last_page < kNoPage &&
         (meta.root == kNoPage || (meta.root > 1 && meta.root <= meta.last_page));
}

class LmdbWalk {
 public:
  LmdbWalk(LmdbValues& out, const ReadAt& read_at, std::uint64_t file_size)
      : out_(out), read_at_(read_at), file_size_(file_size) {}

  std::optional<Fault> run() {
    if (auto fault = find_meta()) return fault;
    if ((meta_.flags & kDupFlags) != 0) {
      return unsupported_source("LMDB", "it has several values per key (DUPSORT)", 0);
    }
    pages_ = std::min(file_size_ / meta_.page_size, meta_.last_page + 1);
    if (pages_ > kMaxPages) return unsupported_source("LMDB", "it has over 2^31 pages", 0);
    seen_.assign(static_cast<std::size_t>(pages_), false);
    if (meta_.root != kNoPage) {
      if (auto fault = enter(meta_.root)) return fault;
      if (auto fault = walk()) return fault;
    }
    if (out_.one_head && meta_.entries == 0) {
      return damaged("one of its two heads is damaged or cut off, and the other one has no values",
                     0);
    }
    if (out_.keys.size() != meta_.entries) {
      return damaged(
          fmt::format("it has {} values, its head says {}", out_.keys.size(), meta_.entries), 0);
    }
    return std::nullopt;
  }

 private:
  struct Level {
    std::vector<std::byte> page;
    std::uint64_t number = 0;
    std::size_t next = 0, count = 0;
    bool leaf = false;
  };

  std::optional<Meta> meta_at(std::uint64_t offset) {
    std::array<std::byte, kMetaBytes> bytes;
    if (file_size_ < kMetaBytes || offset > file_size_ - kMetaBytes) return std::nullopt;
    if (!read_at_(bytes, offset)) return std::nullopt;
    return parse_meta(bytes);
  }

  // Finds the newer of the two heads that are valid. The second is one page after the first. If the
  // first is damaged, tries every page size.
  std::optional<Fault> find_meta() {
    const std::optional<Meta> first = meta_at(0);
    std::optional<Meta> second;
    if (first && plausible(*first)) {
      meta_ = *first;
      second = meta_at(first->page_size);
      const bool fits = second && plausible(*second) && second->page_size == first->page_size;
      if (fits && second->transaction > first->transaction) meta_ = *second;
      out_.one_head = !fits;
      return std::nullopt;
    }
    for (std::uint32_t size = kMinPage; size <= kMaxPage; size *= 2) {
      second = meta_at(size);
      if (!second || !plausible(*second) || second->page_size != size) continue;
      meta_ = *second;
      out_.one_head = true;
      return std::nullopt;
    }
    if (first && first->version != 1) {
      return unsupported_source("LMDB", fmt::format("data version {}, not 1", first->version), 20);
    }
    return damaged("neither of its two heads is good (or a 32-bit or big-endian machine wrote it)",
                   0);
  }

  std::uint64_t offset_of(std::uint64_t page) const { return page * meta_.page_size; }

  // Marks pages [first, first + count) as visited; each may be visited only once.
  std::optional<Fault> claim(std::uint64_t first, std::uint64_t count, std::uint64_t from) {
    if (first < 2 || first >= pages_ || count > pages_ - first) {
      return damaged(
          fmt::format("page {} refers to {} from page {}, the file has {} pages", from,
                      count == 1 ? "1 page" : fmt::format("{} pages", count), first, pages_),
          offset_of(from));
    }
    for (std::uint64_t page = first; page < first + count; ++page) {
      if (seen_[static_cast<std::size_t>(page)]) {
        return damaged(fmt::format("page {} is used twice (a cycle or an overlap)", page),
                       offset_of(from));
      }
      seen_[static_cast<std::size_t>(page)] = true;
    }
    return std::nullopt;
  }

  std::optional<Fault> read(std::span<std::byte> out, std::uint64_t offset) {
    if (read_at_(out, offset)) return std::nullopt;
    return damaged("the file ends inside a page", offset);
  }

  std::optional<Fault> enter(std::uint64_t number) {
    const std::uint64_t from = stack_.empty() ? 0 : stack_.back().number;
    if (stack_.size() == kMaxDepth) return damaged("the tree is too deep", offset_of(number));
    if (auto fault = claim(number, 1, from)) return fault;
    Level level{.page = std::vector<std::byte>(meta_.page_size), .number = number};
    if (auto fault = read(level.page, offset_of(number))) return fault;
    const std::byte* p = level.page.data();
    const auto flags = load<std::uint16_t>(p + 10);
    const auto lower = load<std::uint16_t>(p + 12), upper = load<std::uint16_t>(p + 14);
    if ((flags & kLeaf2) != 0) {
      return unsupported_source("LMDB", "a page of values of one size (DUPFIXED)",
                                offset_of(number));
    }
    level.leaf = (flags & kLeaf) != 0;
    const bool one_kind =
        level.leaf != ((flags & kBranch) != 0) && (flags & (kOverflow | kMeta)) == 0;
    if (!one_kind || load<std::uint64_t>(p) != number || lower < kHead || lower > upper ||
        upper > meta_.page_size) {
      return damaged(fmt::format("page {} is no branch or leaf of the tree", number),
                     offset_of(number));
    }
    level.count = (lower - kHead) / 2;
    if (auto fault = check_nodes(level)) return fault;
    stack_.push_back(std::move(level));
    return std::nullopt;
  }

  std::optional<Fault> walk() {
    while (!stack_.empty()) {
      Level& level = stack_.back();
      if (level.next == level.count) {
        stack_.pop_back();
        continue;
      }
      if (auto fault = level.leaf ? take_value(level) : descend(level)) return fault;
    }
    return std::nullopt;
  }

  // Checks that every node is inside the page and that no two share a byte. Otherwise a small page
  // could hold many large values.
  std::optional<Fault> check_nodes(const Level& level) {
    nodes_.clear();
    const Bytes page = level.page;
    for (std::size_t n = 0; n < level.count; ++n) {
      const std::size_t at = load<std::uint16_t>(page.data() + kHead + 2 * n);
      if (at < kHead + 2 * level.count || at + kNodeHead > page.size()) return bad_node(level, n);
      const std::byte* const node = page.data() + at;
      std::uint64_t size = kNodeHead + load<std::uint16_t>(node + 6);
      if (level.leaf) {
        const bool is_long = (load<std::uint16_t>(node + 4) & kBigData) != 0;
        size += is_long ? sizeof(std::uint64_t) : load<std::uint32_t>(node);
      }
      if (size > page.size() - at) return bad_node(level, n);
      nodes_.push_back({at, at + static_cast<std::size_t>(size), n});
    }
    std::sort(nodes_.begin(), nodes_.end());
    for (std::size_t n = 1; n < nodes_.size(); ++n) {
      if (nodes_[n][0] < nodes_[n - 1][1]) return bad_node(level, nodes_[n][2]);
    }
    return std::nullopt;
  }

  // Returns the bytes of the next node up to the end of the page; check_nodes() has checked it.
  static Bytes next_node(Level& level) {
    const std::size_t at = load<std::uint16_t>(level.page.data() + kHead + 2 * level.next++);
    return Bytes(level.page).subspan(at);
  }

  Fault bad_node(const Level& level, std::size_t number) const {
    return damaged(fmt::format("entry {} of page {} is outside the page, or overlaps another",
                               number, level.number),
                   offset_of(level.number));
  }

  std::optional<Fault> descend(Level& level) {
    const Bytes node = next_node(level);
    return enter(std::uint64_t{load<std::uint32_t>(node.data())} |
                 std::uint64_t{load<std::uint16_t>(node.data() + 4)} << 32);
  }

  std::optional<Fault> take_value(Level& level) {
    const Bytes node = next_node(level);
    const auto size = load<std::uint32_t>(node.data());
    const auto flags = load<std::uint16_t>(node.data() + 4);
    const auto key_size = load<std::uint16_t>(node.data() + 6);
    const std::string_view key(reinterpret_cast<const char*>(node.data() + kNodeHead), key_size);
    const Bytes inside = node.subspan(kNodeHead + key_size);
    if ((flags & (kSubData | kDupData)) != 0) {
      return unsupported_source("LMDB",
                                fmt::format("'{}' is a named database, or has several values",
                                            printable(std::string(key))),
                                offset_of(level.number));
    }
    if (out_.keys.size() == kMaxRecords) {
      return unsupported_source("LMDB", "it has over 50 million values", offset_of(level.number));
    }
    const auto in_page = static_cast<std::uint64_t>(inside.data() - level.page.data());
    std::uint64_t offset = offset_of(level.number) + in_page;
    if ((flags & kBigData) != 0) {
      const auto first = load<std::uint64_t>(inside.data());
      if (auto fault = check_overflow(level, first, size)) return fault;
      offset = offset_of(first) + kHead;
    }
    const std::size_t count = out_.keys.size();
    out_.keys_ascend = out_.keys_ascend && (count == 0 || out_.keys[count - 1] < key);
    out_.keys.add(key);
    out_.offsets.push_back(offset);
    out_.sizes.push_back(size);
    return std::nullopt;
  }

  std::optional<Fault> check_overflow(const Level& level, std::uint64_t first, std::uint32_t size) {
    const std::uint64_t pages =
        (kHead + std::uint64_t{size} + meta_.page_size - 1) / meta_.page_size;
    if (auto fault = claim(first, pages, level.number)) return fault;
    std::array<std::byte, kHead> head;
    if (auto fault = read(head, offset_of(first))) return fault;
    if (load<std::uint64_t>(head.data()) != first ||
        (load<std::uint16_t>(head.data() + 10) & kOverflow) == 0 ||
        load<std::uint32_t>(head.data() + 12) < pages) {
      return damaged(
          fmt::format("page {} does not begin a value of {} bytes", first, with_commas(size)),
          offset_of(first));
    }
    return std::nullopt;
  }

  LmdbValues& out_;
  const ReadAt& read_at_;
  std::uint64_t file_size_;
  Meta meta_;
  std::uint64_t pages_ = 0;
  std::vector<bool> seen_;
  std::vector<Level> stack_;
  std::vector<std::array<std::size_t, 3>> nodes_;  // nodes of one page: begin, end, number
};

}  // namespace

bool starts_lmdb(Bytes first) { return parse_meta(first).has_value(); }

std::optional<Fault> walk_lmdb(LmdbValues& out, const ReadAt& read_at, std::uint64_t file_size) {
  out = {};
  return LmdbWalk(out, read_at, file_size).run();
}

}  // namespace tundish
