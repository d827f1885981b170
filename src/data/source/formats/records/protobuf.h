// The wire format of protocol buffers: a message is a list of numbered fields. Nothing is known
// here about messages, and nothing recurses: whoever reads a message opens a reader for each inner
// one, so the depth is that of the code.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace tundish {

enum class WireType : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

struct WireField {
  std::uint32_t number = 0;  // 1 to 2^29 - 1
  WireType type = WireType::varint;
  std::uint64_t value = 0;   // of varint, fixed64, fixed32
  Bytes bytes;               // of bytes: a view
  std::uint64_t offset = 0;  // of the value or the bytes: base + their place in the message
};

// Any bytes. After an error there are no more fields.
class WireReader {
 public:
  explicit WireReader(Bytes message, std::uint64_t base = 0) : message_(message), base_(base) {}

  // False at the end, and at an error.
  bool next(WireField& out);

  // Null while there is none: "a length of 12 bytes where 3 are left".
  const char* error() const { return error_; }
  std::uint64_t offset() const { return base_ + at_; }  // of the error, or of the next field

 private:
  bool fail(const char* reason);

  Bytes message_;
  std::uint64_t base_;
  std::size_t at_ = 0;
  const char* error_ = nullptr;
};

// A number of 1 to 10 bytes at `at`, which moves behind it; false when it ends early or has more
// than 64 bits.
bool read_varint(std::uint64_t& out, Bytes bytes, std::size_t& at);

}  // namespace tundish
