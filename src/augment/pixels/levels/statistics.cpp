#include "augment/pixels/levels/statistics.h"

#include <algorithm>

#include "augment/pixels/colors/blend_ops.h"
#include "augment/pixels/levels/statistics_ops.h"

namespace tundish {
namespace {

using Counts = std::array<std::uint32_t, 256>;
using Levels = std::array<std::uint8_t, 256>;

void equalize(Levels& table, const Counts& counts) {
  std::uint32_t pixels = 0, last = 0;
  for (const std::uint32_t count : counts) {
    pixels += count;
    if (count > 0) last = count;
  }
  const std::uint32_t step = equalize_step(pixels, last);
  std::uint64_t below = 0;
  for (std::size_t level = 0; level < 256; ++level) {
    table[level] = step == 0 ? static_cast<std::uint8_t>(level) : equalize_level(below, step);
    below += counts[level];
  }
}

}  // namespace

LevelCounts count_levels(const std::uint8_t* rgb, std::size_t pixels) {
  // Four counters per level, used in turn: incrementing a number that was just written is slow, and
  // neighbors are often equal.
  std::array<LevelCounts, 4> counts{};
  const auto count = [&counts](std::size_t which, const std::uint8_t* pixel) {
    ++counts[which][0][pixel[0]];
    ++counts[which][1][pixel[1]];
    ++counts[which][2][pixel[2]];
  };
  std::size_t i = 0;
  for (; i + 4 <= pixels; i += 4, rgb += 12) {
    for (std::size_t which = 0; which < 4; ++which) count(which, rgb + 3 * which);
  }
  for (; i < pixels; ++i, rgb += 3) count(0, rgb);
  for (std::size_t channel = 0; channel < 3; ++channel) {
    for (std::size_t level = 0; level < 256; ++level) {
      for (std::size_t which = 1; which < 4; ++which) {
        counts[0][channel][level] += counts[which][channel][level];
      }
    }
  }
  return counts[0];
}

LevelCounts counts_after(const LevelCounts& counts, const LevelTable& table) {
  LevelCounts out{};
  for (std::size_t channel = 0; channel < 3; ++channel) {
    for (std::size_t level = 0; level < 256; ++level) {
      out[channel][table[channel][level]] += counts[channel][level];
    }
  }
  return out;
}

LevelTable contrast_table(int gray, float factor) {
  LevelTable table = unchanged_levels();
  for (auto& levels : table) {
    for (std::uint8_t& level : levels) level = blend_levels(gray, level, factor);
  }
  return table;
}

LevelTable equalize_table(const LevelCounts& counts) {
  LevelTable table;
  for (std::size_t channel = 0; channel < 3; ++channel) equalize(table[channel], counts[channel]);
  return table;
}

LevelTable autocontrast_table(const LevelRange& range) {
  LevelTable table;
  for (std::size_t channel = 0; channel < 3; ++channel) {
    for (std::size_t level = 0; level < 256; ++level) {
      table[channel][level] =
          autocontrast_level(static_cast<int>(level), range.low[channel], range.high[channel]);
    }
  }
  return table;
}

LevelRange range_of(const LevelCounts& counts) {
  LevelRange range;
  for (std::size_t channel = 0; channel < 3; ++channel) {
    for (std::size_t level = 0; level < 256; ++level) {
      if (counts[channel][level] == 0) continue;
      range.low[channel] =
          static_cast<std::uint8_t>(std::min<std::size_t>(range.low[channel], level));
      range.high[channel] = static_cast<std::uint8_t>(level);
    }
  }
  return range;
}

LevelTable joined(const LevelTable& first, const LevelTable& second) {
  LevelTable table;
  for (std::size_t channel = 0; channel < 3; ++channel) {
    for (std::size_t level = 0; level < 256; ++level) {
      table[channel][level] = second[channel][first[channel][level]];
    }
  }
  return table;
}

}  // namespace tundish
