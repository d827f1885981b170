// The bytes of a pack in the order of the file: records, then sections, then tail and head. The
// index and the names are collected while records are added. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pack/digest.h"
#include "pack/index.h"
#include "pack/output_file.h"
#include "pack/write/handover.h"
#include "pack/write/name_blocks.h"

namespace tundish {

// Appends bytes behind the head, writes them in large pieces, and updates the digest.
class ByteAppender {
 public:
  explicit ByteAppender(OutputFile& file);

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

 private:
  void write(Bytes bytes);

  OutputFile& file_;
  std::vector<std::byte> buffer_;
  std::uint64_t written_ = kHeadBytes;
  Digest digest_;
};

class Appender {
 public:
  // Makes the temporary file; it goes with this object unless finish() returned. Throws what
  // OutputFile throws. The schema outlives the object.
  Appender(const std::string& target, bool replace, const Schema& schema);

  // For so many records whose fields have so many bytes: takes the space from the disk now.
  void reserve(std::uint64_t records, std::uint64_t bytes, bool lanes);

  // Where records begin; before the first add().
  void set_alignment(std::uint32_t alignment) { head_.alignment = alignment; }

  // The next record, with checksums for its number.
  void add(const Prepared& prepared);

  // The sections, then the tail and the head; makes the file durable and visible. Sets the size
  // and the id in `report` before that, because afterwards nothing may fail. `tables`: needed
  // when a record is coded with them. Throws; the target is then as commit() of OutputFile says.
  void finish(PackReport& report, const std::string& metadata, const lanes::Tables* tables);

 private:
  void write_sections(Tail& tail, const std::string& metadata, const lanes::Tables* tables);

  const std::string target_;
  const Schema& schema_;
  OutputFile file_;
  ByteAppender out_;
  Head head_;
  Index index_;
  NameBlocks names_;
  Digest id_;
};

}  // namespace tundish
