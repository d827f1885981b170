// Reverses the filter of a PNG row, in place.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tundish {

// `filter` is 0 to 4. `above` is the unfiltered row above, null for the first row. `pixel` is the
// distance in bytes to the left neighbor that the filter uses: 1 to 8.
void unfilter_row(int filter, std::uint8_t* row, const std::uint8_t* above, std::size_t bytes,
                  std::size_t pixel);

// Reference implementation, written as in the standard.
void unfilter_row_reference(int filter, std::uint8_t* row, const std::uint8_t* above,
                            std::size_t bytes, std::size_t pixel);

}  // namespace tundish
