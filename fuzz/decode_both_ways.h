// What every decoder promises for any bytes: a picture or a fault, and of a picture the same
// pixels whether the whole image is decoded or a window.
#pragma once

#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/random.h"
#include "codec/decode/decode.h"

namespace tundish {

// Small, so that one input takes microseconds; large enough for several strips in both directions.
constexpr Limits kFuzzLimits{.max_pixels = 1 << 14, .max_side = 4096, .max_scans = 20};

// Keeps the pixels, and aborts when a strip breaks the rules of StripSink.
struct FuzzPicture : StripSink {
  explicit FuzzPicture(Window window) : window(window) {
    const auto count =
        static_cast<std::size_t>(window.width) * static_cast<std::size_t>(window.height);
    pixels.reserve(3 * count);
    alpha.reserve(count);
  }

  void push(const Strip& strip) override {
    if (strip.y != window.y + rows || strip.x > window.x || strip.rows < 1 ||
        strip.x + strip.width < window.x + window.width || rows + strip.rows > window.height) {
      std::abort();
    }
    const std::uint8_t* row = strip.pixels + std::ptrdiff_t{window.x - strip.x} * 3;
    for (int y = 0; y < strip.rows; ++y, row += strip.stride) {
      pixels.insert(pixels.end(), row, row + std::ptrdiff_t{window.width} * 3);
    }
    for (int y = 0; strip.alpha && y < strip.rows; ++y) {
      const std::uint8_t* from = strip.alpha + y * strip.alpha_stride + (window.x - strip.x);
      alpha.insert(alpha.end(), from, from + window.width);
    }
    if (!strip.alpha) {
      alpha.insert(alpha.end(),
                   static_cast<std::size_t>(strip.rows) * static_cast<std::size_t>(window.width),
                   std::uint8_t{255});
    }
    rows += strip.rows;
  }

  Window window;
  int rows = 0;
  std::vector<std::uint8_t> pixels, alpha;
};

// What decode_both_ways() may take of these bytes: the decoder what decode_bytes() announces, and
// pixels that are kept here. Vectors grow by doubling.
inline std::size_t decode_promise(Bytes bytes) {
  constexpr std::size_t kTexts = 64 << 10;
  ImageHeader header;
  if (read_header(header, bytes, kFuzzLimits)) return kTexts;
  header.keep_alpha = true;
  const Window whole{0, 0, static_cast<int>(header.width), static_cast<int>(header.height)};
  const std::size_t pixels = std::size_t{header.width} * header.height;
  return kTexts + decode_bytes(header, whole) + 3 * 2 * 4 * pixels;
}

inline void decode_both_ways(Bytes bytes, bool keep_alpha = false) {
  ImageHeader header;
  if (read_header(header, bytes, kFuzzLimits)) return;
  header.keep_alpha = keep_alpha;
  const int width = static_cast<int>(header.width);
  const int height = static_cast<int>(header.height);
  DecodeScratch scratch;
  FuzzPicture whole({0, 0, width, height});
  const auto fault = decode(whole, bytes, header, whole.window, scratch, kFuzzLimits);
  if (!fault && whole.rows != height) std::abort();

  Random random({.seed = bytes.size(), .sample = header.width, .repeat = header.height}, 0);
  for (int i = 0; i < 3; ++i) {
    Window window;
    window.width = 1 + static_cast<int>(random.below(header.width));
    window.height = 1 + static_cast<int>(random.below(header.height));
    window.x = static_cast<int>(random.below(static_cast<std::uint64_t>(width - window.width + 1)));
    window.y =
        static_cast<int>(random.below(static_cast<std::uint64_t>(height - window.height + 1)));
    FuzzPicture part(window);
    const auto part_fault = decode(part, bytes, header, window, scratch, kFuzzLimits);
    if (part_fault && !fault) std::abort();
    for (int y = 0; y < part.rows && window.y + y < whole.rows; ++y) {
      // memcmp: an instrumented loop over the bytes takes longer than decoding them.
      const auto row = static_cast<std::size_t>(y) * static_cast<std::size_t>(window.width);
      const auto in_whole =
          static_cast<std::size_t>(window.y + y) * static_cast<std::size_t>(width) +
          static_cast<std::size_t>(window.x);
      const auto count = static_cast<std::size_t>(window.width);
      if (std::memcmp(&part.pixels[3 * row], &whole.pixels[3 * in_whole], 3 * count) != 0 ||
          std::memcmp(&part.alpha[row], &whole.alpha[in_whole], count) != 0) {
        std::abort();
      }
    }
  }
}

}  // namespace tundish
