#include "cli/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"

namespace tundish::cli {

std::string bytes_text(double bytes) {
  constexpr std::array kUnits = {"bytes", "KB", "MB", "GB", "TB", "PB"};
  std::size_t unit = 0;
  // 999.95 would be rounded to 1000.0
  while (bytes >= (unit == 0 ? 1000.0 : 999.95) && unit + 1 < kUnits.size()) {
    bytes /= 1000;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} {}", bytes, bytes == 1 ? "byte" : kUnits[unit])
                   : fmt::format("{:.1f} {}", bytes, kUnits[unit]);
}

std::string duration_text(double seconds) {
  if (!(seconds >= 0) || seconds > 1e9) return "?";
  if (seconds < 9.95) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<std::uint64_t>(std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string rate_text(double per_second) {
  if (!(per_second >= 0) || per_second > 1e15) return "?";
  if (per_second < 10) return fmt::format("{:.2f}", per_second);
  return with_commas(static_cast<std::uint64_t>(std::llround(per_second)));
}

std::string counted(std::uint64_t count, std::string_view noun) {
  const char* ending = count == 1 ? "" : noun.ends_with("s") ? "es" : "s";
  return fmt::format("{} {}{}", with_commas(count), noun, ending);
}

std::string quoted_for_shell(std::string_view word) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("/._-+:=@%,").find(c) != std::string_view::npos ||
           static_cast<unsigned char>(c) >= 0x80;
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) {
    return printable(std::string(word));
  }
  std::string out = "'";
  for (const char c : word) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return printable(out + '\'');
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = i + j;
        continue;
      }
      const bool same = a[i - 1] == b[j - 1];
      cost[i][j] =
          std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t least = std::max<std::size_t>(1, word.size() / 3) + 1;  // exclusive upper bound
  for (const std::string& candidate : candidates) {
    // The start of a word is the most likely slip, as verbs are never abbreviated.
    const bool start = word.size() >= 2 && candidate.starts_with(word);
    const std::size_t distance = start ? 1 : edit_distance(word.substr(0, 40), candidate);
    if (distance < least) {
      least = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace tundish::cli
