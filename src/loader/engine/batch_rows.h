// Where the images of a batch are in its memory while bad ones are left out.
//
// What the trainer gets has no gaps and keeps the order of the places. Moving every image that
// comes after a gap, when the batch is delivered, costs more than the bad sample did. So a sample
// takes its row late, when it is planned, and as far to the front as the places that are known to
// be empty allow. With one thread all are known and nothing is moved; with many threads a place may
// turn out empty after later ones have their rows, and close_gaps() moves those.
#pragma once

#include <cstddef>
#include <span>

#include "loader/engine/ring.h"

namespace tundish {

// Gives a place its row, unless it has one. Rows grow with the places, among those that are not
// empty, and a row is never beyond its place. Call with the slot locked.
void take_row(Slot& slot, std::size_t number);

// Nothing will come at this place. Locks the slot.
void leave_empty(Slot& slot, std::size_t number);

// The pixels of a place that has a row, in one of the views. `row_bytes`: of all images that a
// place has in it.
std::byte* row_of(Slot& slot, std::size_t view, std::size_t number, std::size_t row_bytes);

// The place as it was before anything but its position and its row was known.
Place only_row(const Place& place);

// Brings the filled places to the rows 0, 1, 2, ... in their order; all places are done.
// `row_bytes`: one for each view.
void close_gaps(Slot& slot, std::span<const std::size_t> row_bytes);

}  // namespace tundish
