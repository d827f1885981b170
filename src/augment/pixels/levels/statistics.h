// How many pixels of an image have each level, and the tables that follow from that.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "augment/pixels/levels/level_range.h"
#include "augment/pixels/levels/level_table.h"

namespace tundish {

using LevelCounts = std::array<std::array<std::uint32_t, 256>, 3>;  // by channel

LevelCounts count_levels(const std::uint8_t* rgb, std::size_t pixels);

// The counts of the image that the table will make of a counted one.
LevelCounts counts_after(const LevelCounts& counts, const LevelTable& table);

// `gray`: the mean of the image.
LevelTable contrast_table(int gray, float factor);
LevelTable equalize_table(const LevelCounts& counts);
LevelTable autocontrast_table(const LevelRange& range);

// Of the levels that have been counted.
LevelRange range_of(const LevelCounts& counts);

// `second` after `first`.
LevelTable joined(const LevelTable& first, const LevelTable& second);

}  // namespace tundish
