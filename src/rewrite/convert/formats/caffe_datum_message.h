// Writes Caffe's Datum: an image with its label.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tundish {

struct DatumMessage {
  std::uint64_t channels = 0, height = 0, width = 0;  // 0: unknown
  std::string_view data = {};
  std::int64_t label = -1;  // -1: none
  bool encoded = false;     // data: a JPEG, PNG, ...; otherwise channels x height x width bytes
  std::string_view floats = {};  // instead of data: float32, little-endian
};

std::string datum_bytes(const DatumMessage& datum);

}  // namespace tundish
