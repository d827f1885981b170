#include "data/source/label_vector.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>

namespace tundish {
namespace {

static_assert(std::endian::native == std::endian::little, "the data of a .npy file are copied");

// Everything before the data: a multiple of 64 bytes, with blanks before the last line end.
std::string npy_head(std::size_t classes) {
  const std::string text =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({},), }}", classes);
  constexpr std::size_t kFixed = 10;  // magic, version, length
  const std::size_t bytes = (kFixed + text.size() + 1 + 63) / 64 * 64;
  const std::size_t length = bytes - kFixed;
  std::string out("\x93NUMPY\x01\x00", 8);
  out += static_cast<char>(length & 255);
  out += static_cast<char>(length >> 8);
  out += text;
  out.resize(bytes - 1, ' ');
  return out + '\n';
}

}  // namespace

int label_vector_field(const Schema& schema) {
  if (schema.classes.empty()) return -1;
  for (std::size_t f = 0; f < schema.fields.size(); ++f) {
    const Field& field = schema.fields[f];
    if (field.type == FieldType::array && field.name == kLabelVectorField) {
      return static_cast<int>(f);
    }
  }
  return -1;
}

std::vector<std::byte> label_vector_npy(std::span<const float> vector) {
  const std::string head = npy_head(vector.size());
  std::vector<std::byte> out(head.size() + vector.size_bytes());
  std::memcpy(out.data(), head.data(), head.size());
  if (!vector.empty()) std::memcpy(out.data() + head.size(), vector.data(), vector.size_bytes());
  return out;
}

std::size_t label_vector_bytes(std::size_t classes) {
  return npy_head(classes).size() + classes * sizeof(float);
}

std::optional<Fault> read_label_vector(std::span<float> out, Bytes npy) {
  const std::string head = npy_head(out.size());
  const bool fits = npy.size() == head.size() + out.size_bytes() &&
                    std::memcmp(npy.data(), head.data(), head.size()) == 0;
  if (!fits) {
    return Fault{ErrorCode::label_unreadable,
                 fmt::format("field '{}': no .npy file of {} numbers of float32", kLabelVectorField,
                             out.size()),
                 0};
  }
  if (!out.empty()) std::memcpy(out.data(), npy.data() + head.size(), out.size_bytes());
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (std::isfinite(out[i])) continue;
    return Fault{ErrorCode::label_unreadable,
                 fmt::format("field '{}': number {} is not finite", kLabelVectorField, i),
                 head.size() + i * sizeof(float)};
  }
  return std::nullopt;
}

}  // namespace tundish
