// Pixel types that every folder uses.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tundish {

struct Size {
  int width = 0;
  int height = 0;
  bool operator==(const Size&) const = default;
};

// A rectangle of pixels; x and y may be negative where padding is intended.
struct Window {
  int x = 0;
  int y = 0;
  int width = 0;
  int height = 0;
  bool operator==(const Window&) const = default;
};

// The encoding of an image field. The numbers are stored in files: never change one.
enum class Codec : std::uint8_t {
  unknown = 0,  // stored unchanged; cannot be decoded
  jpeg = 1,
  png = 2,
  npy = 3,    // a .npy file, uint8, (H, W), (H, W, 1) or (H, W, 3)
  lanes = 4,  // a JPEG recompressed losslessly (codec/lanes/record.h)
  raw = 5,    // pixels only; the schema has their shape (codec/decode/raw.h)
  webp = 6,
  bmp = 7,
  gif = 8,
};

const char* codec_name(Codec codec);

// Whether a stored number is an image file codec that decode() accepts. Lanes are excluded.
bool is_image_file_codec(std::uint8_t number);

// A few rows of interleaved 8-bit RGB that a decoder passes to a sink.
// The decoder owns the memory, which is valid only during the call.
struct Strip {
  const std::uint8_t* pixels;  // at pixel (x, y)
  std::ptrdiff_t stride;       // bytes from one row to the next
  int x, y;                    // in the coordinates of the whole image
  int width, rows;
  // Alpha of the same pixels, one byte each. Null: all pixels are opaque, or alpha is not needed.
  const std::uint8_t* alpha = nullptr;
  std::ptrdiff_t alpha_stride = 0;
};

inline std::uint8_t alpha_of(const Strip& strip, int row, int column) {
  return strip.alpha ? strip.alpha[row * strip.alpha_stride + column] : std::uint8_t{255};
}

// Receives strips from top to bottom; every row of the window exactly once.
// A strip may be wider than the requested window but always covers its width.
class StripSink {
 public:
  virtual ~StripSink() = default;
  virtual void push(const Strip& strip) = 0;
};

}  // namespace tundish
