// Human-readable figures.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tundish::cli {

std::string bytes_text(double bytes);       // 140.2 GB, 64 KB, 12 bytes: decimal units
std::string duration_text(double seconds);  // 2:41, 1:02:03; below a minute 4.2 s, 31 s
std::string rate_text(double per_second);   // 1,234 or 0.42
// 1 sample, 1,234 samples, 2 classes
std::string counted(std::uint64_t count, std::string_view noun);
std::string quoted_for_shell(std::string_view word);  // quoted if needed: 'my photos'

// Returns the most likely intended candidate for `word`; empty if none is similar.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

// Returns the number of letters to change, insert, delete or swap with their neighbor.
std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace tundish::cli
