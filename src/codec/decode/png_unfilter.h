// Takes back the filter of a PNG row, in place.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tundish {

// `filter` is 0 to 4. `above` is the row above after this was done to it, null for the first row.
// `pixel` bytes lie between a byte and the one to its left that the filter means: 1 to 8.
void unfilter_row(int filter, std::uint8_t* row, const std::uint8_t* above, std::size_t bytes,
                  std::size_t pixel);

// As the standard says it.
void unfilter_row_reference(int filter, std::uint8_t* row, const std::uint8_t* above,
                            std::size_t bytes, std::size_t pixel);

}  // namespace tundish
