// The head of a .npy file, versions 1 to 3: the part before the elements.
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
  bool structured = false;  // the type is a list of fields; the text after it is not parsed
  bool fortran_order = false;
  std::vector<std::uint64_t> shape;  // at most kMaxArraySides
  std::size_t text = 0;              // offset of the head's text
  std::size_t data = 0;              // offset of the elements, from the length of the head
};

// True if these bytes start like a .npy file.
bool begins_as_npy(Bytes first);

// `bytes` must start like a .npy file and may end after the head. Faults: image_cut_off if they end
// inside the head (`data` is set if the length was read), codec_unsupported for other versions,
// image_header if the text is not a dictionary of the known form.
std::optional<Fault> read_npy_head(NpyHead& out, Bytes bytes);

// Returns a type without its byte order: "f4" for "<f4".
std::string_view without_byte_order(std::string_view descr);

}  // namespace tundish
