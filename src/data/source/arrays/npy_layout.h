// Converts the head of a .npy file of any plain type (codec/decode/npy_head.h) to the layout of its
// elements.
#pragma once

#include <optional>

#include "codec/decode/npy_head.h"
#include "data/source/arrays/stored_array.h"

namespace tundish {

inline constexpr std::size_t kMaxNpyHead = 64 << 10;  // bytes; NumPy also refuses longer heads

// `first`: the first bytes of the file, kMaxNpyHead or all. Sets `data` to the offset of the first
// element. Faults: source_damaged; format_unsupported for text, dates, complex numbers, Python
// objects and structured types.
std::optional<Fault> read_npy_layout(ArrayLayout& out, std::size_t& data, Bytes first);

// `code`: NumPy's "descr" without byte order, such as "u1". Empty if ArrayElement lacks the type.
std::optional<ArrayElement> numpy_element(std::string_view code);

}  // namespace tundish
