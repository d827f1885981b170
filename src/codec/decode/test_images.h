// Images for tests: any kind of JPEG that libjpeg can write, PNGs from chunks, and a sink that
// keeps the picture.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "codec/decode/decode.h"

namespace tundish {

using ByteVector = std::vector<std::byte>;

// Returns interleaved samples: smooth colors with edges and noise, deterministic for a seed.
std::vector<std::uint8_t> test_pixels(int width, int height, int channels, std::uint64_t seed);

enum class JpegColor { ycc, rgb, gray, cmyk, ycck };

struct JpegKind {
  JpegColor color = JpegColor::ycc;
  int h[4] = {2, 1, 1, 2};  // sampling factors per component
  int v[4] = {2, 1, 1, 2};
  int quality = 90;
  bool progressive = false;
  bool arithmetic = false;
  int restart_rows = 0;        // restart interval in rows of MCUs
  int restart_mcus = 0;        // restart interval in MCUs
  std::string_view exif = {};  // the part after "Exif\0\0"
};

ByteVector make_jpeg(int width, int height, const JpegKind& kind, std::uint64_t seed = 1);

// Builds a PNG from its parts. `rows` holds uncompressed rows with their filter bytes.
ByteVector png_chunk(std::string_view type, const ByteVector& data);
ByteVector png_file(const std::vector<ByteVector>& chunks);
ByteVector png_ihdr(std::uint32_t width, std::uint32_t height, int depth, int color,
                    bool interlaced = false);
ByteVector png_idat(const ByteVector& rows);

// Writes a PNG of random pixels by libpng. The palette of color type 3 has `colors` entries: all
// that the depth allows, or fewer with depth 8.
ByteVector make_png(int width, int height, int depth, int color, bool interlaced,
                    std::uint64_t seed = 1, int colors = 0);

ByteVector make_npy(std::string_view dictionary, std::size_t data_bytes, int version = 1);

ByteVector bytes_of(std::string_view text);

// Keeps the pushed strips and checks the rules of StripSink.
struct Picture : StripSink {
  explicit Picture(Window window) : window(window) {}
  void push(const Strip& strip) override;

  Window window;
  int rows = 0;
  std::vector<std::uint8_t> pixels;  // RGB, window.width x rows
};

// Runs decode() for a window; a fault fails the test.
std::vector<std::uint8_t> decode_window(Bytes bytes, Window window);

// Returns the fault of read_header(), or of decoding the whole image; none on success.
ErrorCode fault_of(Bytes bytes, const Limits& limits = {});

// Returns a window of a whole image.
std::vector<std::uint8_t> cut(const std::vector<std::uint8_t>& rgb, int width, Window window);

// Returns a random window inside the image; edges and single pixels are frequent.
Window random_window(Random& random, int width, int height);

}  // namespace tundish
