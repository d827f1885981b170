// A table of levels, and its application to an image.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/machine/cpu.h"

namespace tundish {

// Maps each level of each channel to a new level.
using LevelTable = std::array<std::array<std::uint8_t, 256>, 3>;

// Returns the identity table.
LevelTable unchanged_levels();

// Applies the table to `bytes` bytes of interleaved RGB, whole pixels.
void apply_levels(std::uint8_t* rgb, std::size_t bytes, const LevelTable& table, Cpu cpu);

// `table`: 256 levels for all channels, or 256 levels for each channel in turn.
void apply_same_levels_avx2(std::uint8_t* rgb, std::size_t bytes, const std::uint8_t* table);
void apply_same_levels_avx512(std::uint8_t* rgb, std::size_t bytes, const std::uint8_t* table);
void apply_levels_avx2(std::uint8_t* rgb, std::size_t bytes, const std::uint8_t* tables);
void apply_levels_avx512(std::uint8_t* rgb, std::size_t bytes, const std::uint8_t* tables);

}  // namespace tundish
