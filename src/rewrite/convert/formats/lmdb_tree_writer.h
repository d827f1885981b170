// Writes an LMDB data file (64-bit, little-endian, data version 1) from front to back: keys come in
// ascending order, so each page is written once, when it is full, and those above them last. What
// liblmdb does to change a file in place is not needed, and neither is liblmdb. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rewrite/convert/output_stream.h"

namespace tundish {

inline constexpr std::size_t kMaxLmdbKey = 511;             // bytes, of liblmdb as it is built
inline constexpr std::uint64_t kMaxLmdbValue = 0xffffffff;  // bytes

class LmdbTreeWriter {
 public:
  explicit LmdbTreeWriter(OutputStream& out);

  // Keys have 1 to kMaxLmdbKey bytes and ascend byte by byte; otherwise std::logic_error.
  void add(std::string_view key, std::string_view value);

  // The rest of the pages and the head. The stream is not committed.
  void finish();

 private:
  // A page that is written, as the one above it refers to it.
  struct Child {
    std::string key;  // its first
    std::uint64_t page;
  };

  std::uint64_t write_value(std::string_view value);  // in pages of its own; their first number
  void write_leaf();
  std::vector<Child> write_branches(const std::vector<Child>& children);
  void write_heads(std::uint64_t root, std::uint16_t depth);

  OutputStream& out_;
  std::uint64_t next_page_ = 2;       // after the two heads
  std::vector<std::string> entries_;  // of the leaf that fills
  std::string first_key_, last_key_;
  std::size_t used_ = 0;  // bytes of the leaf
  std::vector<Child> leaves_;
  std::uint64_t count_ = 0, branch_pages_ = 0, overflow_pages_ = 0;
};

}  // namespace tundish
