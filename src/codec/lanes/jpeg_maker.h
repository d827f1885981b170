// Makes JPEG files for tests: any kind that libjpeg can write and take_apart() should accept.
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
  enum class Space : std::uint8_t { ycc, rgb, gray, cmyk, two };  // two: components without meaning

  int width = 40, height = 30;
  Space space = Space::ycc;
  int h[4] = {2, 1, 1, 2};  // sampling factors per component
  int v[4] = {2, 1, 1, 2};
  int quality = 90;
  bool optimized = false;  // optimized Huffman tables
  bool arithmetic = false;
  bool progressive = false;  // with libjpeg's own script
  std::uint64_t script = 0;  // not 0: seed of a random progressive script
  bool interleaved = true;   // false: one sequential scan per component
  int restart_mcus = 0;
  int restart_rows = 0;
  std::string comment = {};
  std::string exif = {};
  Picture picture = Picture::noisy;
  std::uint64_t seed = 1;
};

ByteVector make_jpeg(const JpegKind& kind);

// Returns any kind that becomes a lanes record, with sides from 1 to `side`.
JpegKind random_kind(Random& random, int side);

// Describes all members, for messages.
std::string describe(const JpegKind& kind);

// Returns the offset of the marker's 0xff; the test fails if there is none.
std::size_t find_marker(const ByteVector& file, int marker, std::size_t from = 2);

}  // namespace tundish::lanes
