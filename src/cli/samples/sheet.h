// A sheet of pictures with words under each, as a PNG.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/image.h"

namespace tundish::cli {

struct Tile {
  const std::uint8_t* rgb = nullptr;  // rows without gaps
  Size size;
  std::vector<std::string> lines;
};

// All tiles have the same size. Throws Error(no_memory).
std::vector<std::byte> make_sheet(const std::vector<Tile>& tiles);

}  // namespace tundish::cli
