#include "data/source/formats/records/protobuf.h"

namespace tundish {

bool read_varint(std::uint64_t& out, Bytes bytes, std::size_t& at) {
  out = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (at >= bytes.size()) return false;
    const auto byte = std::to_integer<std::uint64_t>(bytes[at++]);
    if (shift == 63 && byte > 1) return false;
    out |= (byte & 127) << shift;
    if (byte < 128) return true;
  }
  return false;
}

bool ProtobufReader::fail(const char* reason) {
  error_ = reason;
  return false;
}

bool ProtobufReader::next(WireField& out) {
  if (error_ || at_ == message_.size()) return false;
  std::uint64_t tag = 0;
  std::size_t at = at_;
  if (!read_varint(tag, message_, at)) return fail("the tag of a field is cut off or too long");
  if (tag >> 32 != 0 || tag >> 3 == 0) return fail("a field has an impossible number");
  out = {};
  out.number = static_cast<std::uint32_t>(tag >> 3);
  out.type = static_cast<WireType>(tag & 7);
  const std::size_t left = message_.size() - at;
  out.offset = base_ + at;
  switch (out.type) {
    case WireType::varint:
      if (!read_varint(out.value, message_, at)) return fail("a number is cut off or too long");
      break;
    case WireType::fixed64:
      if (left < 8) return fail("a number of 8 bytes is cut off");
      out.value = load<std::uint64_t>(message_.data() + at);
      at += 8;
      break;
    case WireType::fixed32:
      if (left < 4) return fail("a number of 4 bytes is cut off");
      out.value = load<std::uint32_t>(message_.data() + at);
      at += 4;
      break;
    case WireType::bytes: {
      std::uint64_t size = 0;
      if (!read_varint(size, message_, at)) return fail("a length is cut off or too long");
      if (size > message_.size() - at) return fail("a length is over the end of its message");
      out.bytes = message_.subspan(at, static_cast<std::size_t>(size));
      out.offset = base_ + at;
      at += static_cast<std::size_t>(size);
      break;
    }
    default:
      return fail("a field has an unknown type (a group, or no protocol buffer)");
  }
  at_ = at;
  return true;
}

}  // namespace tundish
