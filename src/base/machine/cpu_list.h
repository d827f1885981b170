// Lists of CPUs and memory nodes in the kernel's format: "0-3,8,10-11".
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace tundish {

inline constexpr std::uint32_t kMaxCpus = 65'536;

// Returns the sorted, unique numbers; empty for an empty text. Returns nothing if the text has
// another format or contains a CPU number of kMaxCpus or more.
std::optional<std::vector<std::uint32_t>> parse_cpu_list(std::string_view text);

// Counts the elements of `a` that are also in `b`; both are sorted.
std::size_t shared_cpus(const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b);

}  // namespace tundish
