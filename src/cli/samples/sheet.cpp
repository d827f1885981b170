#include "cli/samples/sheet.h"

#include <png.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "cli/samples/font.h"
#include "core/error.h"

namespace tundish::cli {
namespace {

constexpr int kMargin = 6;
constexpr int kLetter = kGlyphWidth + 1;  // with the gap after it
constexpr int kLine = kGlyphHeight + 2;
constexpr std::uint8_t kPaper = 255, kInk = 32;

struct Canvas {
  int width, height;
  std::vector<std::uint8_t> rgb;

  std::uint8_t* at(int x, int y) {
    return rgb.data() + 3 * (static_cast<std::ptrdiff_t>(y) * width + x);
  }
};

void draw_text(Canvas& canvas, const std::string& text, int left, int top) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (int y = 0; y < kGlyphHeight; ++y) {
      for (int x = 0; x < kGlyphWidth; ++x) {
        if (!glyph_pixel(text[i], x, y)) continue;
        std::memset(canvas.at(left + static_cast<int>(i) * kLetter + x, top + y), kInk, 3);
      }
    }
  }
}

std::vector<std::byte> png_of(const Canvas& canvas) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(canvas.width);
  image.height = static_cast<png_uint_32>(canvas.height);
  image.format = PNG_FORMAT_RGB;
  std::vector<std::byte> out;
  png_alloc_size_t bytes = PNG_IMAGE_PNG_SIZE_MAX(image);
  out.resize(bytes);
  if (!png_image_write_to_memory(&image, out.data(), &bytes, 0, canvas.rgb.data(), 0, nullptr)) {
    throw Error(ErrorCode::no_memory, {}, image.message);
  }
  out.resize(bytes);
  return out;
}

}  // namespace

std::vector<std::byte> make_sheet(const std::vector<Tile>& tiles) {
  const Size image = tiles.empty() ? Size{} : tiles.front().size;
  std::size_t lines = 0, letters = 0;
  for (const Tile& tile : tiles) {
    lines = std::max(lines, tile.lines.size());
    for (const std::string& line : tile.lines) letters = std::max(letters, line.size());
  }
  const int columns = std::max(1, static_cast<int>(std::ceil(std::sqrt(tiles.size()))));
  const int rows = (static_cast<int>(tiles.size()) + columns - 1) / columns;
  const int across = std::max(image.width, static_cast<int>(letters) * kLetter) + kMargin;
  const int down = image.height + 2 + static_cast<int>(lines) * kLine + kMargin;
  Canvas canvas{.width = columns * across + kMargin, .height = rows * down + kMargin, .rgb = {}};
  canvas.rgb.assign(
      3 * static_cast<std::size_t>(canvas.width) * static_cast<std::size_t>(canvas.height), kPaper);
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    const int left = kMargin + static_cast<int>(i) % columns * across;
    const int top = kMargin + static_cast<int>(i) / columns * down;
    const auto row_bytes = 3 * static_cast<std::size_t>(image.width);
    for (int y = 0; y < image.height; ++y) {
      std::memcpy(canvas.at(left, top + y), tiles[i].rgb + static_cast<std::size_t>(y) * row_bytes,
                  row_bytes);
    }
    int under = top + image.height + 2;
    for (const std::string& line : tiles[i].lines) {
      draw_text(canvas, line, left, under);
      under += kLine;
    }
  }
  return png_of(canvas);
}

}  // namespace tundish::cli
