// The records of a TFRecord file, one after another: length, its masked CRC32C, data, their masked
// CRC32C.
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

// Whether the file's first bytes are the head of a record: the CRC of the length is right.
bool starts_tfrecord(Bytes first);

// Of `stored`, the data and the CRC behind them. Faults: source_damaged, counted from the data.
std::optional<Fault> check_tfrecord(Bytes stored);

class TfRecordReader {
 public:
  explicit TfRecordReader(ByteStream& in) : in_(in) {}  // keeps a reference

  // False at the end, and at a fault of the file: a length whose CRC is wrong, a record cut off.
  bool next();
  std::uint64_t offset() const { return offset_; }  // of the data
  std::uint64_t length() const { return length_; }

  // Once after next(): data and CRC, unchecked, or passes over them. False at a fault.
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
