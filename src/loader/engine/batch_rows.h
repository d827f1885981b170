// Placement of the images of a batch in memory while bad samples are left out.
//
// A delivered batch has no gaps and keeps the order of the places. Moving every image after a gap
// at delivery would cost more than the bad sample did. So a sample takes its row late, when it is
// planned, and skips the places that are already known to be empty. With one thread, all empty
// places are known by then, and nothing is moved. With many threads, a place may turn out empty
// after later places took their rows; close_gaps() then moves the images of the later places.
#pragma once

#include <cstddef>
#include <span>

#include "loader/engine/ring.h"

namespace tundish {

// Assigns a row to a place without a row. Places with samples get increasing rows, so a row number
// never exceeds its place number. Requires a locked slot.
void take_row(Slot& slot, std::size_t number);

// Marks a place that will have no image. Locks the slot.
void leave_empty(Slot& slot, std::size_t number);

// Returns the pixels of a place that has a row, in one view. `row_bytes`: bytes of all images of a
// place in this view.
std::byte* row_of(Slot& slot, std::size_t view, std::size_t number, std::size_t row_bytes);

// Returns the place with nothing but its position and its row.
Place only_row(const Place& place);

// Moves the filled places to the rows 0, 1, 2, ... in order. All places must be done.
// `row_bytes`: one number per view.
void close_gaps(Slot& slot, std::span<const std::size_t> row_bytes);

}  // namespace tundish
