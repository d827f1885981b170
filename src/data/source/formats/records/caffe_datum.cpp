#include "data/source/formats/records/caffe_datum.h"

#include <fmt/format.h>

#include "data/source/arrays/copy_bytes.h"
#include "data/source/format.h"
#include "data/source/formats/records/protobuf.h"

namespace tundish {
namespace {

constexpr std::uint64_t kMaxDatumSide = 1u << 20;  // the product of three fits into 64 bits

Fault damaged(std::string reason, std::uint64_t offset) {
  return damaged_source("LMDB", "no Caffe Datum: " + std::move(reason), offset);
}

// Returns false if the field has the wrong type.
bool take_field(CaffeDatum& out, const WireField& field) {
  const bool number = field.type == WireType::varint;
  const bool bytes = field.type == WireType::bytes;
  switch (field.number) {
    case 1:
      out.channels = field.value;
      return number;
    case 2:
      out.height = field.value;
      return number;
    case 3:
      out.width = field.value;
      return number;
    case 4:
      out.data = field.bytes;
      return bytes;
    case 5:
      out.label = static_cast<std::int32_t>(field.value);
      return number;
    case 6: {
      std::byte one[4];
      store(one, static_cast<std::uint32_t>(field.value));
      const Bytes values = bytes ? field.bytes : Bytes(one);
      append_bytes(out.floats, values);
      return field.type == WireType::fixed32 || (bytes && values.size() % 4 == 0);
    }
    case 7:
      out.encoded = field.value != 0;
      return number;
    default:
      return true;
  }
}

}  // namespace

std::optional<Fault> parse_caffe_datum(CaffeDatum& out, Bytes value) {
  out = {};
  ProtobufReader reader(value);
  WireField field;
  while (reader.next(field)) {
    if (!take_field(out, field)) {
      return damaged(fmt::format("field {} has another type", field.number), field.offset);
    }
  }
  if (reader.error()) return damaged(reader.error(), reader.offset());
  if (out.encoded) {
    if (out.data.empty()) return damaged("the image is empty", 0);
    return std::nullopt;
  }
  const bool sides = out.channels > 0 && out.height > 0 && out.width > 0 &&
                     out.channels < kMaxDatumSide && out.height < kMaxDatumSide &&
                     out.width < kMaxDatumSide;
  const std::uint64_t pixels = sides ? out.channels * out.height * out.width : 0;
  const std::uint64_t stored = out.floats.empty() ? out.data.size() : out.floats.size() / 4;
  if (pixels == 0 || pixels != stored || (!out.floats.empty() && !out.data.empty())) {
    return damaged(fmt::format("{} x {} x {} values, but {} are stored", out.channels, out.height,
                               out.width, stored),
                   0);
  }
  return std::nullopt;
}

}  // namespace tundish
