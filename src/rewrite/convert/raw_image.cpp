#include "rewrite/convert/raw_image.h"

#include "rewrite/preprocess/encode_npy.h"
#include "rewrite/preprocess/encode_png.h"

namespace tundish {
namespace {

// Transposes an [outer][inner] array.
void transpose(std::vector<std::byte>& out, Bytes in, std::size_t outer, std::size_t inner) {
  out.resize(in.size());
  for (std::size_t o = 0; o < outer; ++o) {
    for (std::size_t e = 0; e < inner; ++e) out[e * outer + o] = in[o * inner + e];
  }
}

// Returns the elements with the channels last; uses `memory` only if they have to be reordered.
Bytes interleaved(std::vector<std::byte>& memory, const Field& field, const RawLayout& layout,
                  Bytes bytes) {
  if (!field.channels_first || layout.channels == 1) return bytes;
  transpose(memory, bytes, layout.channels, layout.height * layout.width);
  return memory;
}

}  // namespace

RawLayout raw_layout(const Field& field) {
  const std::vector<std::uint64_t>& shape = field.array->shape;
  if (shape.size() == 2) return {shape[0], shape[1], 1};
  if (field.channels_first) return {shape[1], shape[2], shape[0]};
  return {shape[0], shape[1], shape[2]};
}

void raw_to_png(std::vector<std::byte>& out, const Field& field, Bytes bytes) {
  const RawLayout layout = raw_layout(field);
  std::vector<std::byte> memory;
  bytes = interleaved(memory, field, layout, bytes);
  encode_png(out, {.first = reinterpret_cast<const std::uint8_t*>(bytes.data()),
                   .size = {static_cast<int>(layout.width), static_cast<int>(layout.height)},
                   .channels = static_cast<int>(layout.channels),
                   .deep = field.array->element == ArrayElement::uint16});
}

void raw_to_file(std::vector<std::byte>& out, const Field& field, Bytes bytes) {
  const RawLayout layout = raw_layout(field);
  if (field.array->element != ArrayElement::uint8 || layout.channels == 4) {
    return raw_to_png(out, field, bytes);
  }
  std::vector<std::byte> memory;
  encode_npy(out, {static_cast<int>(layout.width), static_cast<int>(layout.height)},
             static_cast<int>(layout.channels), interleaved(memory, field, layout, bytes));
}

Bytes image_file(std::vector<std::byte>& png, const Field& field, Bytes bytes) {
  if (!field.array) return bytes;
  raw_to_png(png, field, bytes);
  return png;
}

void raw_to_planes(std::vector<std::byte>& out, const Field& field, Bytes bytes) {
  const RawLayout layout = raw_layout(field);
  if (field.channels_first || layout.channels == 1) {
    out.assign(bytes.begin(), bytes.end());
  } else {
    transpose(out, bytes, layout.height * layout.width, layout.channels);
  }
}

}  // namespace tundish
