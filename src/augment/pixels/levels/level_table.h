// A table of levels, applied to an image.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/machine/cpu.h"

namespace tundish {

// The level that each level of each channel becomes.
using LevelTable = std::array<std::array<std::uint8_t, 256>, 3>;

// Every level as it is.
LevelTable unchanged_levels();

// `bytes` of interleaved RGB, whole pixels.
void apply_levels(std::uint8_t* rgb, std::size_t bytes, const LevelTable& table, Cpu cpu);

// One table of 256 levels for all channels, or one after the other for each.
void apply_same_levels_avx2(std::uint8_t* rgb, std::size_t bytes, const std::uint8_t* table);
void apply_same_levels_avx512(std::uint8_t* rgb, std::size_t bytes, const std::uint8_t* table);
void apply_levels_avx2(std::uint8_t* rgb, std::size_t bytes, const std::uint8_t* tables);
void apply_levels_avx512(std::uint8_t* rgb, std::size_t bytes, const std::uint8_t* tables);

}  // namespace tundish
