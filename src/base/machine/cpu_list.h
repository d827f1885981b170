// Lists of CPUs and of memory nodes as the kernel writes them: "0-3,8,10-11".
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace tundish {

inline constexpr std::uint32_t kMaxCpus = 65'536;

// Sorted, each once; empty for an empty text. None when the text is something else, or names a
// CPU from kMaxCpus on.
std::optional<std::vector<std::uint32_t>> parse_cpu_list(std::string_view text);

// How many of `a` are in `b`; both sorted.
std::size_t shared_cpus(const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b);

}  // namespace tundish
