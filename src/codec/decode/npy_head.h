// The head of a .npy file, versions 1 to 3: what NumPy writes before the elements.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"

namespace tundish {

struct NpyHead {
  std::string_view descr;   // a view of the bytes: "<f4", "|u1", "<M8[ns]"
  bool structured = false;  // the type is a list of fields; nothing after it was read
  bool fortran_order = false;
  std::vector<std::uint64_t> shape;  // at most kMaxArraySides
  std::size_t text = 0;              // where the head's text begins
  std::size_t data = 0;              // where the elements begin, as the length of the head says
};

// Whether these bytes begin as a .npy file does.
bool begins_as_npy(Bytes first);

// `bytes` begin as a .npy file does and may end after the head. Faults: image_cut_off when they end
// inside the head (`data` is set when its length was read), codec_unsupported for another version,
// image_header for a text that is no dictionary of the known form.
std::optional<Fault> read_npy_head(NpyHead& out, Bytes bytes);

// A type without its order of bytes: "<f4" is "f4".
std::string_view without_byte_order(std::string_view descr);

}  // namespace tundish
