// JPEG files for tests: any kind that libjpeg can write and take_apart() should take.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/random.h"
#include "codec/lanes/jpeg_file.h"

namespace tundish::lanes {

using ByteVector = std::vector<std::byte>;

struct JpegKind {
  enum class Picture : std::uint8_t { noisy, flat, stripes };     // stripes: all blocks are equal
  enum class Space : std::uint8_t { ycc, rgb, gray, cmyk, two };  // two: components of no meaning

  int width = 40, height = 30;
  Space space = Space::ycc;
  int h[4] = {2, 1, 1, 2};  // sampling factors of the components
  int v[4] = {2, 1, 1, 2};
  int quality = 90;
  bool optimized = false;  // Huffman tables
  bool arithmetic = false;
  bool progressive = false;  // by libjpeg's own script
  std::uint64_t script = 0;  // not 0: another progressive script, drawn with this seed
  bool interleaved = true;   // false: a sequential scan for every component
  int restart_mcus = 0;
  int restart_rows = 0;
  std::string comment = {};
  std::string exif = {};
  Picture picture = Picture::noisy;
  std::uint64_t seed = 1;
};

ByteVector make_jpeg(const JpegKind& kind);

// Any of those that become lanes records, with sides from 1 to `side`.
JpegKind random_kind(Random& random, int side);

// For messages: all that is in it.
std::string describe(const JpegKind& kind);

// Where the marker's 0xff is; the test fails when there is none.
std::size_t find_marker(const ByteVector& file, int marker, std::size_t from = 2);

}  // namespace tundish::lanes
