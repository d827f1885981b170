// Writes the bytes of a pack in file order: records, then sections, then tail and head. Collects
// index and names while records are added. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/pack/digest.h"
#include "data/pack/index.h"
#include "data/pack/write/name_blocks.h"
#include "data/pack/write/ordered_queue.h"
#include "data/pack/write/partial_file.h"
#include "data/pack/write/row.h"

namespace tundish {

// Appends bytes behind the head, writes large pieces, and updates the digest.
class ByteAppender {
 public:
  explicit ByteAppender(PartialFile& file);

  std::uint64_t at() const { return written_ + buffer_.size(); }
  void put(Bytes bytes);
  template <std::integral T>
  void put_word(T value) {
    std::array<std::byte, sizeof(T)> word;
    store(word.data(), value);
    put(word);
  }
  void pad(std::uint64_t alignment);
  void flush();
  PackId digest() const { return digest_.value(); }  // digest of the flushed bytes

  // Continues behind byte `end` if the file's bytes up to there have this digest. Otherwise returns
  // false and changes nothing. Requires that nothing was put since the last restore.
  bool restore(std::uint64_t end, const PackId& digest);

 private:
  void write(Bytes bytes);

  PartialFile& file_;
  std::vector<std::byte> buffer_;
  std::uint64_t written_ = kHeadBytes;
  Digest digest_;
};

// A pack whose bytes are all written, but that is not yet renamed to its target.
struct SealedPack {
  std::uint64_t file_bytes = 0;
  PackId id{};
};

class Appender {
 public:
  // Opens the partial file with this hidden name. Throws what PartialFile throws. `schema` must
  // outlive the object.
  Appender(const std::string& target, bool replace, const std::string& leaf, const Schema& schema);

  PartialFile& file() { return file_; }
  std::uint64_t records() const { return index_.count(); }
  std::uint32_t alignment() const { return head_.alignment; }

  // Reserves disk space for `records` records whose fields have `bytes` bytes in total.
  void reserve(std::uint64_t records, std::uint64_t bytes, bool lanes);

  // Sets the alignment of records; must precede the first add().
  void set_alignment(std::uint32_t alignment) { head_.alignment = alignment; }

  // Appends the next record, with checksums for its number. `row` describes `prepared`.
  void add(const Prepared& prepared, const Row& row);

  // Re-adds records that the file already contains. They end at byte `end`, and all bytes up to
  // there have this digest. If they do not, returns false and changes nothing.
  bool restore(const std::vector<Row>& rows, std::uint64_t end, const PackId& digest);

  // Returns an upper bound of the finished file's bytes with one more record, if all sections but
  // names and index have `section_bytes`.
  std::uint64_t bytes_with(const Row& row, std::uint64_t section_bytes) const;

  // Writes buffered bytes, so that at() and digest() cover all records so far.
  void flush() { out_.flush(); }
  std::uint64_t at() const { return out_.at(); }
  PackId digest() const { return out_.digest(); }

  bool is_sealed() const { return sealed_; }
  // Writes the sections, the tail and the head, and makes the file durable. `tables` is needed if
  // records are coded with tables. No record may follow.
  SealedPack seal(const std::string& metadata, const lanes::Tables* tables);

 private:
  void note(const Row& row);
  void write_sections(Tail& tail, const std::string& metadata, const lanes::Tables* tables);

  const Schema& schema_;
  PartialFile file_;
  ByteAppender out_;
  Head head_;
  Index index_;
  NameBlocks names_;
  Digest id_;
  bool sealed_ = false;  // true also after a partial seal: no record may follow
};

}  // namespace tundish
