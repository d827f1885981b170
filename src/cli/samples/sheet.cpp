#include "cli/samples/sheet.h"

#include <fmt/format.h>
#include <png.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "cli/samples/font.h"

namespace tundish::cli {
namespace {

constexpr int kMargin = 6;
constexpr int kLetter = kGlyphWidth + 1;  // including the gap
constexpr int kLine = kGlyphHeight + 2;
constexpr std::uint8_t kPaper = 255, kInk = 32;
constexpr std::size_t kMinLetters = 24;  // minimum per line: images may be tiny

// Wraps lines at `most` letters, at blanks where possible. Continuation lines are
// indented.
std::vector<std::string> wrapped(const std::vector<std::string>& lines, std::size_t most) {
  std::vector<std::string> out;
  for (std::string rest : lines) {
    while (rest.size() > most) {
      const std::size_t blank = rest.rfind(' ', most);
      const bool breaks = blank != std::string::npos && blank > 1;  // 1: only the indentation
      out.push_back(rest.substr(0, breaks ? blank : most));
      rest = "  " + rest.substr(breaks ? blank + 1 : most);
    }
    out.push_back(std::move(rest));
  }
  return out;
}

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

// `image_height`: height of the place; the text starts below.
void draw_tile(Canvas& canvas, const Tile& tile, int left, int top, int image_height) {
  const auto row_bytes = 3 * static_cast<std::size_t>(tile.size.width);
  for (int y = 0; y < tile.size.height; ++y) {
    std::memcpy(canvas.at(left, top + y), tile.rgb + static_cast<std::size_t>(y) * row_bytes,
                row_bytes);
  }
  int under = top + image_height + 2;
  for (const std::string& line : tile.lines) {
    draw_text(canvas, line, left, under);
    under += kLine;
  }
}

// Limits a side to the length that libpng reads and writes.
int side_of(std::size_t places, int step) {
  constexpr std::size_t kMax = 1'000'000;
  const std::size_t side = places * static_cast<std::size_t>(step) + kMargin;
  if (side > kMax) {
    throw Error(ErrorCode::argument, {},
                fmt::format("the sheet would be {} pixels wide or high, and a PNG has at most {}: "
                            "show fewer images",
                            with_commas(side), with_commas(kMax)));
  }
  return static_cast<int>(side);
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

std::vector<std::byte> make_sheet(std::vector<Tile> tiles, std::size_t columns) {
  Size largest;
  for (const Tile& tile : tiles) {
    largest.width = std::max(largest.width, tile.size.width);
    largest.height = std::max(largest.height, tile.size.height);
  }
  const std::size_t most = std::max(kMinLetters, static_cast<std::size_t>(largest.width / kLetter));
  std::size_t lines = 0, letters = 0;
  for (Tile& tile : tiles) {
    tile.lines = wrapped(tile.lines, most);
    lines = std::max(lines, tile.lines.size());
    for (const std::string& line : tile.lines) letters = std::max(letters, line.size());
  }
  if (columns == 0) columns = static_cast<std::size_t>(std::ceil(std::sqrt(tiles.size())));
  columns = std::max<std::size_t>(1, columns);
  const std::size_t rows = (tiles.size() + columns - 1) / columns;
  const int across = std::max(largest.width, static_cast<int>(letters) * kLetter) + kMargin;
  const int down = largest.height + 2 + static_cast<int>(lines) * kLine + kMargin;
  Canvas canvas{.width = side_of(columns, across), .height = side_of(rows, down), .rgb = {}};
  canvas.rgb.assign(
      3 * static_cast<std::size_t>(canvas.width) * static_cast<std::size_t>(canvas.height), kPaper);
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    draw_tile(canvas, tiles[i], kMargin + static_cast<int>(i % columns) * across,
              kMargin + static_cast<int>(i / columns) * down, largest.height);
  }
  return png_of(canvas);
}

}  // namespace tundish::cli
