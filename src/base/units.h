// Numbers of bytes in human-readable form.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace tundish {

// Formats a size: 1610612736 -> "1.5 GiB".
inline std::string bytes_text(std::uint64_t bytes) {
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB"};
  for (int power = 3; power > 0; --power) {
    const double unit = static_cast<double>(std::uint64_t{1} << (10 * power));
    const double count = static_cast<double>(bytes) / unit;
    if (count >= 1) return fmt::format("{:.4g} {}", count, kUnits[power - 1]);
  }
  return fmt::format("{} bytes", bytes);
}

}  // namespace tundish
