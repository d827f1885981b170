// Caffe's Datum: an image with its label, as a protocol buffer.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"

namespace tundish {

struct CaffeDatum {
  std::uint64_t channels = 0, height = 0, width = 0;
  std::int64_t label = -1;  // -1: none
  bool encoded = false;     // data: a JPEG, PNG, ...; otherwise channels x height x width bytes
  Bytes data;               // a view
  std::vector<std::byte> floats;  // the values of float_data
};

// Accepts any bytes. Faults: source_damaged, also if the numbers of pixels and bytes differ.
std::optional<Fault> parse_caffe_datum(CaffeDatum& out, Bytes value);

}  // namespace tundish
