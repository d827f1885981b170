// Admission of samples to the budget: their memory is charged before they are decoded.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "loader/sample/sample.h"

namespace tundish {

// Call before the bytes are read, if their number is known. Throws like admit().
void admit_read(const Recipe& recipe, const Draw& draw, Scratch& scratch);

// Call after the sample was read and planned. Returns false if it had to wait and released its
// bytes: read them again. Throws SampleError(over_budget) if it can never fit, and Error(closed).
bool admit(const Recipe& recipe, const Draw& draw, std::span<const View> views,
           const ImageHeader& header, std::uint8_t orientation, Scratch& scratch);

// Like admit(), for a sample without an image, after it was read.
bool admit_arrays(const Recipe& recipe, const Draw& draw, Scratch& scratch);

// Call after a sample: returns buffers that have become large to the system, then its charge.
void release_large_buffers(const Recipe& recipe, std::unique_ptr<Scratch>& scratch);

}  // namespace tundish
