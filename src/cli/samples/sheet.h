// A contact sheet of captioned pictures as a PNG.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/image.h"

namespace tundish::cli {

struct Tile {
  const std::uint8_t* rgb = nullptr;  // rows without gaps
  Size size;
  std::vector<std::string> lines;
};

// Every place on the sheet has the size of the largest tile; wider lines are wrapped. If `columns`
// is 0, the sheet has about as many columns as rows. Throws Error(no_memory, argument).
std::vector<std::byte> make_sheet(std::vector<Tile> tiles, std::size_t columns = 0);

}  // namespace tundish::cli
