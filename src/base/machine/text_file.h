// Small text files of /proc and /sys. Every function takes any bytes and any path: what cannot be
// read or parsed is an empty optional.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tundish {

inline constexpr std::size_t kMaxText = std::size_t{1} << 20;  // bytes of a file that are looked at

// A regular file, up to kMaxText bytes of it. Never waits, as a pipe in its place could.
std::optional<std::string> read_text(const std::string& path);

std::string_view trimmed(std::string_view text);
std::vector<std::string_view> lines_of(std::string_view text);  // at most 65,536
std::vector<std::string_view> words_of(std::string_view text);  // at most 4,096

// The first word of a text as a number: digits only, no overflow. "max" is none.
std::optional<std::uint64_t> whole_number(std::string_view text);
std::optional<double> decimal_number(std::string_view text);  // finite, not negative

std::optional<std::uint64_t> number_in(const std::string& path);

// The number after a name that begins a line: "MemAvailable:  2048 kB", "nr_throttled 3".
std::optional<std::uint64_t> number_of(std::string_view text, std::string_view name);

// What follows "name:" or "name\t" at the beginning of a line, trimmed.
std::optional<std::string> value_of(std::string_view text, std::string_view name);

}  // namespace tundish
