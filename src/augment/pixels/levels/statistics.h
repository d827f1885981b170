// Counts of the levels of an image, and tables derived from the counts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "augment/pixels/levels/level_range.h"
#include "augment/pixels/levels/level_table.h"

namespace tundish {

using LevelCounts = std::array<std::array<std::uint32_t, 256>, 3>;  // indexed by channel, level

LevelCounts count_levels(const std::uint8_t* rgb, std::size_t pixels);

// Returns the counts after the table is applied to a counted image.
LevelCounts counts_after(const LevelCounts& counts, const LevelTable& table);

// `gray`: mean gray of the image.
LevelTable contrast_table(int gray, float factor);
LevelTable equalize_table(const LevelCounts& counts);
LevelTable autocontrast_table(const LevelRange& range);

// Returns the range of the counted levels.
LevelRange range_of(const LevelCounts& counts);

// Returns the table that applies `first`, then `second`.
LevelTable joined(const LevelTable& first, const LevelTable& second);

}  // namespace tundish
