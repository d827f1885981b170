// Reads the consecutive records of a TFRecord file: length, masked CRC32C of the length, data,
// masked CRC32C of the data.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "data/source/byte_stream.h"

namespace tundish {

inline constexpr std::size_t kTfRecordHead = 12;
inline constexpr std::size_t kTfRecordTail = 4;

// Returns true if the first bytes of a file are the head of a record with a correct CRC.
bool starts_tfrecord(Bytes first);

// `stored`: the data and their CRC. Faults: source_damaged, with offsets from the data.
std::optional<Fault> check_tfrecord(Bytes stored);

class TfRecordReader {
 public:
  explicit TfRecordReader(ByteStream& in) : in_(in) {}  // keeps a reference

  // Returns false at the end and at a fault of the file: a wrong CRC of a length, a cut-off record.
  bool next();
  std::uint64_t offset() const { return offset_; }  // offset of the data
  std::uint64_t length() const { return length_; }

  // Once after next(): reads data and CRC unchecked, or skips them. Both return false at a fault.
  bool read(std::vector<std::byte>& stored);
  bool skip();

  const std::optional<Fault>& fault() const { return fault_; }

 private:
  bool cut_off(std::uint64_t got);

  ByteStream& in_;
  std::uint64_t offset_ = 0;
  std::uint64_t length_ = 0;
  std::optional<Fault> fault_;
};

}  // namespace tundish
