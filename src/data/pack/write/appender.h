// The bytes of a pack in the order of the file: records, then sections, then tail and head. The
// index and the names are collected while records are added. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/pack/digest.h"
#include "data/pack/index.h"
#include "data/pack/write/handover.h"
#include "data/pack/write/name_blocks.h"
#include "data/pack/write/partial_file.h"
#include "data/pack/write/row.h"

namespace tundish {

// Appends bytes behind the head, writes them in large pieces, and updates the digest.
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
  PackId digest() const { return digest_.value(); }  // of what was flushed

  // Goes on behind byte `end`, when the file's bytes up to there have this digest. False: nothing
  // changed. Nothing was put since the last restore.
  bool restore(std::uint64_t end, const PackId& digest);

 private:
  void write(Bytes bytes);

  PartialFile& file_;
  std::vector<std::byte> buffer_;
  std::uint64_t written_ = kHeadBytes;
  Digest digest_;
};

// A pack whose bytes are all written, but that has not got its name yet.
struct SealedPack {
  std::uint64_t file_bytes = 0;
  PackId id{};
};

class Appender {
 public:
  // Opens the partial file of this hidden name. Throws what PartialFile throws. The schema outlives
  // the object.
  Appender(const std::string& target, bool replace, const std::string& leaf, const Schema& schema);

  PartialFile& file() { return file_; }
  std::uint64_t records() const { return index_.count(); }
  std::uint32_t alignment() const { return head_.alignment; }

  // For so many records whose fields have so many bytes: takes the space from the disk now.
  void reserve(std::uint64_t records, std::uint64_t bytes, bool lanes);

  // Where records begin; before the first add().
  void set_alignment(std::uint32_t alignment) { head_.alignment = alignment; }

  // The next record, with checksums for its number. `row` is that of `prepared`.
  void add(const Prepared& prepared, const Row& row);

  // The same records again that are in the file already: they end at byte `end`, and all bytes up
  // to there have this digest. False when they do not: then nothing changed.
  bool restore(const std::vector<Row>& rows, std::uint64_t end, const PackId& digest);

  // At most the bytes of the finished file with one more record, when all sections but names and
  // index have `section_bytes`.
  std::uint64_t bytes_with(const Row& row, std::uint64_t section_bytes) const;

  // Writes what is buffered. at() and digest() are then those of the records so far.
  void flush() { out_.flush(); }
  std::uint64_t at() const { return out_.at(); }
  PackId digest() const { return out_.digest(); }

  bool is_sealed() const { return sealed_; }
  // The sections, then the tail and the head; makes the file durable. `tables`: needed when a
  // record is coded with them. No record follows.
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
  bool sealed_ = false;  // or partly: no record follows
};

}  // namespace tundish
