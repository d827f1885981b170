#include "loader/engine/batch_rows.h"

#include <cstring>

namespace tundish {

// Between the last earlier place with a row and this place, only places known to be empty give up
// their row. Every other place may still need a row.
void take_row(Slot& slot, std::size_t number) {
  const std::vector<Place>& places = slot.places;
  Place& place = slot.places[number];
  if (place.has_row) return;
  std::size_t front = number;  // row of this place so far
  for (std::size_t i = number; i-- > 0;) {
    if (places[i].empty || places[i].coded) {
      --front;
    } else if (places[i].has_row) {
      front -= i - places[i].row;
      break;
    }
  }
  place.row = front;
  place.has_row = true;
}

void leave_empty(Slot& slot, std::size_t number) {
  std::lock_guard lock(slot.mutex);
  slot.places[number].empty = true;
}

std::byte* row_of(Slot& slot, std::size_t view, std::size_t number, std::size_t row_bytes) {
  return slot.views[view].pixels.data() + slot.places[number].row * row_bytes;
}

Place only_row(const Place& place) {
  Place out;
  out.position = place.position;
  out.row = place.row;
  out.has_row = place.has_row;
  return out;
}

void close_gaps(Slot& slot, std::span<const std::size_t> row_bytes) {
  std::size_t row = 0;
  for (Place& place : slot.places) {
    if (!place.filled || place.coded || !place.has_row) continue;
    for (std::size_t v = 0; place.row != row && v < row_bytes.size(); ++v) {
      std::byte* const pixels = slot.views[v].pixels.data();
      std::memmove(pixels + row * row_bytes[v], pixels + place.row * row_bytes[v], row_bytes[v]);
    }
    place.row = row++;
  }
}

}  // namespace tundish
