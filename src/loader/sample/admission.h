// Samples against the budget: what one needs is charged before it is decoded.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "loader/sample/sample.h"

namespace tundish {

// Before the bytes are read, when the source knows their number. Throws as admit() does.
void admit_read(const Recipe& recipe, const Draw& draw, Scratch& scratch);

// After the sample was read and planned. False: it had to wait, and released the bytes meanwhile;
// read them again. Throws SampleError(over_budget) when it can never fit, Error(closed).
bool admit(const Recipe& recipe, const Draw& draw, std::span<const View> views,
           const ImageHeader& header, std::uint8_t orientation, Scratch& scratch);

// The same for a sample without an image, after it was read.
bool admit_arrays(const Recipe& recipe, const Draw& draw, Scratch& scratch);

// After a sample: buffers that have become large go back to the system, then its charge.
void release_large_buffers(const Recipe& recipe, std::unique_ptr<Scratch>& scratch);

}  // namespace tundish
