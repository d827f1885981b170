// Pillow 12's resize of 16-bit grays ("I;16"), bit for bit: weights in double, each pass rounded to
// 16 bits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "augment/plan.h"

namespace tundish {

// Whether a step of such an image computes with its levels, and does not only move them.
bool computes_levels(const ResizeStep& step);

// The part of such a step that moves pixels: its crop, padded.
ResizeStep crop_of(const ResizeStep& step);

// What follows: `pixels` is the crop, as ImageMode::i16 has it, and `out` becomes the kept window
// of the resized crop, mirrored.
void resize_16(std::vector<std::uint8_t>& out, std::span<const std::uint8_t> pixels,
               const ResizeStep& step);

// Memory that all of it takes, besides the crop and the result.
std::uint64_t resize_16_bytes(const ResizeStep& step);

}  // namespace tundish
