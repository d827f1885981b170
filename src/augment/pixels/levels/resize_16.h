// Pillow 12's resize of 16-bit grays ("I;16"), bit for bit: weights are double, and each pass
// rounds to 16 bits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "augment/plan.h"

namespace tundish {

// Whether the step computes new 16-bit levels, as opposed to only moving pixels.
bool computes_levels(const ResizeStep& step);

// Returns the part of the step that only moves pixels: the crop with its padding.
ResizeStep crop_of(const ResizeStep& step);

// Runs the rest of the step. `pixels` is the crop in the format of ImageMode::i16. `out` becomes
// the kept window of the resized crop, mirrored.
void resize_16(std::vector<std::uint8_t>& out, std::span<const std::uint8_t> pixels,
               const ResizeStep& step);

// Upper bound of the memory used, excluding the crop and the result.
std::uint64_t resize_16_bytes(const ResizeStep& step);

}  // namespace tundish
