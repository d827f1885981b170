// Parses the JSON head of a .safetensors file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace tundish {

struct SafeTensor {
  std::string name;
  std::string dtype;  // "U8", "F32", ...
  std::vector<std::uint64_t> shape;
  std::uint64_t begin = 0, end = 0;  // counted from the end of the head
};

inline constexpr std::uint64_t kMaxSafetensorsHead = 100'000'000;  // same limit as safetensors
inline constexpr std::size_t kMaxSafetensors = 10'000;

// Sorts by `begin`. Faults: source_damaged for invalid JSON, for a repeated key, for overlaps and
// holes, and for an end other than `data` bytes; format_unsupported for over kMaxSafetensors.
// Offsets count from the first byte of the JSON.
std::optional<Fault> read_safetensors_head(std::vector<SafeTensor>& out, std::string_view json,
                                           std::uint64_t data);

}  // namespace tundish
