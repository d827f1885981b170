// The wire format of protocol buffers: a message is a list of numbered fields. This reader is
// independent of message types and does not recurse. Callers open a reader for each inner message,
// so the depth is bounded by the code of the caller.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace tundish {

enum class WireType : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

struct WireField {
  std::uint32_t number = 0;  // 1 to 2^29 - 1
  WireType type = WireType::varint;
  std::uint64_t value = 0;   // for varint, fixed64, fixed32
  Bytes bytes;               // for bytes: a view
  std::uint64_t offset = 0;  // offset of the value or the bytes: base + place in the message
};

// Accepts any bytes. Yields no fields after an error.
class ProtobufReader {
 public:
  explicit ProtobufReader(Bytes message, std::uint64_t base = 0) : message_(message), base_(base) {}

  // Reads the next field. Returns false at the end and at an error.
  bool next(WireField& out);

  // Null without error: "a length of 12 bytes where 3 are left".
  const char* error() const { return error_; }
  std::uint64_t offset() const { return base_ + at_; }  // offset of the error, or of the next field

 private:
  bool fail(const char* reason);

  Bytes message_;
  std::uint64_t base_;
  std::size_t at_ = 0;
  const char* error_ = nullptr;
};

// Reads a number of 1 to 10 bytes and moves `at` behind it. Returns false if the number is cut
// off or has more than 64 bits.
bool read_varint(std::uint64_t& out, Bytes bytes, std::size_t& at);

}  // namespace tundish
