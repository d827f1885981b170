// Writes an LMDB data file (64-bit, little-endian, data version 1) from front to back. Keys arrive
// in ascending order, so each full page is written once, and the pages above last. No page changes
// in place, so liblmdb is not needed. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rewrite/convert/output_stream.h"

namespace tundish {

inline constexpr std::size_t kMaxLmdbKey = 511;             // bytes; liblmdb's default limit
inline constexpr std::uint64_t kMaxLmdbValue = 0xffffffff;  // bytes

class LmdbTreeWriter {
 public:
  explicit LmdbTreeWriter(OutputStream& out);

  // Keys must have 1 to kMaxLmdbKey bytes and ascend by bytes; otherwise throws std::logic_error.
  void add(std::string_view key, std::string_view value);

  // Writes the remaining pages and the head. Does not commit the stream.
  void finish();

 private:
  // A written page, as referenced by the level above.
  struct Child {
    std::string key;  // first key in the page
    std::uint64_t page;
  };

  std::uint64_t write_value(std::string_view value);  // in separate pages; returns the first
  void write_leaf();
  std::vector<Child> write_branches(const std::vector<Child>& children);
  void write_heads(std::uint64_t root, std::uint16_t depth);

  OutputStream& out_;
  std::uint64_t next_page_ = 2;       // behind the two heads
  std::vector<std::string> entries_;  // entries of the unfinished leaf
  std::string first_key_, last_key_;
  std::size_t used_ = 0;  // bytes used in the leaf
  std::vector<Child> leaves_;
  std::uint64_t count_ = 0, branch_pages_ = 0, overflow_pages_ = 0;
};

}  // namespace tundish
