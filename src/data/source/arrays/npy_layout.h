// Where the elements of a .npy file of any plain type lie: the head (codec/decode/npy_head.h) as a
// layout.
#pragma once

#include <optional>

#include "codec/decode/npy_head.h"
#include "data/source/arrays/stored_array.h"

namespace tundish {

inline constexpr std::size_t kMaxNpyHead = 64 << 10;  // bytes; NumPy itself refuses long ones

// `first` are the first bytes of the file, kMaxNpyHead or all. `data` is where the elements begin.
// Faults: source_damaged; format_unsupported for text, dates, complex numbers, Python objects
// and structured types.
std::optional<Fault> read_npy_layout(ArrayLayout& out, std::size_t& data, Bytes first);

// NumPy's "descr" without its order of bytes: "u1", "f4"; empty when ArrayElement has no such type.
std::optional<ArrayElement> numpy_element(std::string_view code);

}  // namespace tundish
