// Small text files of /proc and /sys. Every function accepts any bytes and any path: what cannot be
// read or parsed is an empty optional.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tundish {

inline constexpr std::size_t kMaxText = std::size_t{1} << 20;  // bytes read from one file

// Reads a regular file, up to kMaxText bytes. Never blocks, even if the path is a pipe.
std::optional<std::string> read_text(const std::string& path);

std::string_view trimmed(std::string_view text);
std::vector<std::string_view> lines_of(std::string_view text);  // at most 65,536
std::vector<std::string_view> words_of(std::string_view text);  // at most 4,096

// Parses the first word of a text as a number: digits only, no overflow. "max" yields nothing.
std::optional<std::uint64_t> parse_integer(std::string_view text);
std::optional<double> parse_decimal(std::string_view text);  // finite, not negative

std::optional<std::uint64_t> number_in(const std::string& path);

// Returns the number after a name that starts a line: "MemAvailable:  2048 kB", "nr_throttled 3".
std::optional<std::uint64_t> number_of(std::string_view text, std::string_view name);

// Returns the trimmed text after "name:" or "name\t" at the start of a line.
std::optional<std::string> value_of(std::string_view text, std::string_view name);

}  // namespace tundish
