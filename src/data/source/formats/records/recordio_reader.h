// Reads the records of an MXNet RecordIO file (.rec) and their headers.
//
// A record has one or more parts (first, middle..., last). The writer splits data at every magic
// number, and removes the magic number. A part: magic, kind and length in one word, data, zeros up
// to a multiple of 4 bytes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "data/source/byte_stream.h"
#include "data/source/string_table.h"

namespace tundish {

inline constexpr std::uint32_t kRecordIoMagic = 0xced7230a;
inline constexpr std::size_t kIrHeaderBytes = 24;  // flag, label, id, id2

struct RecordIoRecord {
  std::uint64_t offset = 0;                         // offset of the first part
  std::uint64_t stored = 0;                         // size of all parts, with heads and padding
  std::uint64_t size = 0;                           // size of the joined data
  std::array<std::byte, kIrHeaderBytes> head = {};  // first bytes of the data
};

class RecordIoReader {
 public:
  explicit RecordIoReader(ByteStream& in) : in_(in) {}  // keeps a reference

  // Reads the next record. Returns false at the end, and after a fault (source_damaged).
  bool next(RecordIoRecord& out);
  const std::optional<Fault>& fault() const { return fault_; }

 private:
  bool read_part(RecordIoRecord& out, unsigned& kind);
  bool fail(std::string reason, std::uint64_t offset);

  ByteStream& in_;
  std::optional<Fault> fault_;
};

// Joins the parts of one record, `stored` bytes as counted by the reader. Any bytes; faults:
// source_damaged.
std::optional<Fault> join_recordio(std::vector<std::byte>& out, Bytes stored);

// The header that mx.recordio.pack() writes before an image.
struct IrHeader {
  std::uint32_t flag = 0;  // > 0: number of labels that follow the header
  float label = 0;
  std::uint64_t id = 0, id2 = 0;
};
IrHeader read_ir_header(Bytes head);  // at least kIrHeaderBytes

// Parses lines "KEY<tab>OFFSET" of an .idx file. Accepts any text. Faults: source_damaged with the
// line, also for a repeated key; format_unsupported over kMaxRecords.
struct RecordIoKeys {
  StringTable names;  // clean
  std::vector<std::uint64_t> offsets;
};
std::optional<Fault> parse_recordio_keys(RecordIoKeys& out, std::string_view text);

}  // namespace tundish
