#include "codec/lanes/jpeg_encode.h"

#include <algorithm>
#include <cstring>

#include "codec/lanes/forward_arithmetic.h"
#include "codec/lanes/forward_dct.h"
#include "codec/lanes/record.h"
#include "codec/lanes/standard_huffman.h"

namespace tundish::lanes {
namespace {

std::size_t plane_width(const Component& component) {
  return static_cast<std::size_t>(component.blocks_x) * kBlock;
}

// Repeats the last sample to the end of the row.
void extend(std::uint8_t* row, std::size_t used, std::size_t width) {
  std::fill(row + used, row + width, row[used - 1]);
}

// Averages one or two rows of pixels to a chroma row, two pixels across.
void average(std::uint8_t* out, const std::uint8_t* upper, const std::uint8_t* lower,
             std::size_t width) {
  const bool two_rows = lower != nullptr;
  for (std::size_t x = 0; x < width; ++x) {
    const std::size_t at = 2 * x;
    int sum = upper[at] + upper[at + 1];
    if (two_rows) sum += lower[at] + lower[at + 1];
    const int place = static_cast<int>(x);
    out[x] = static_cast<std::uint8_t>(two_rows ? average_of_four(sum, place)
                                                : average_of_two(sum, place));
  }
}

void put(std::vector<std::byte>& out, std::initializer_list<int> bytes) {
  for (const int byte : bytes) out.push_back(static_cast<std::byte>(byte));
}

void put_quantization(std::vector<std::byte>& out, const Quantization& table, int number) {
  put(out, {0xff, 0xdb, 0, 0x43, number});
  for (const std::uint8_t place : kZigzag) out.push_back(static_cast<std::byte>(table[place]));
}

// Writes all bytes of the file except the scan, in libjpeg's order.
void put_restore(std::vector<std::byte>& out, const Coefficients& image) {
  const Geometry& g = image.geometry;
  out.clear();
  put(out, {0});  // flags: literal bytes only
  put(out, {0xff, 0xd8, 0xff, 0xe0, 0, 16, 'J', 'F', 'I', 'F', 0, 1, 1, 0, 0, 1, 0, 1, 0, 0});
  put_quantization(out, image.quantization[0], 0);
  if (g.components > 1) put_quantization(out, image.quantization[1], 1);
  put(out, {0xff, 0xc0, 0, 8 + 3 * g.components, 8, g.height >> 8, g.height & 255, g.width >> 8,
            g.width & 255, g.components});
  for (int c = 0; c < g.components; ++c) {
    put(out, {c + 1, g.component[c].h << 4 | g.component[c].v, c > 0 ? 1 : 0});
  }
  const std::size_t huffman = g.components > 1 ? sizeof(kStandardHuffman) : kGrayHuffmanBytes;
  const auto* tables = reinterpret_cast<const std::byte*>(kStandardHuffman);
  out.insert(out.end(), tables, tables + huffman);
  put(out, {0xff, 0xda, 0, 6 + 2 * g.components, g.components});
  for (int c = 0; c < g.components; ++c) put(out, {c + 1, c > 0 ? 0x11 : 0});
  put(out, {0, 63, 0, 0xff, 0xd9});
}

}  // namespace

// Fills every plane up to whole blocks, like libjpeg: repeats the last column of pixels before
// chroma is averaged, and the last row of each plane afterwards.
void JpegEncoder::fill_planes(const std::uint8_t* rgb, const Geometry& geometry) {
  const bool halve_x = geometry.max_h == 2, halve_y = geometry.max_v == 2;
  const auto width = static_cast<std::size_t>(geometry.width);
  for (int c = 0; c < geometry.components; ++c) {
    const Component& component = geometry.component[c];
    const std::size_t across = plane_width(component);
    planes_[c].resize(across * static_cast<std::size_t>(component.blocks_y) * kBlock);
    rows_[c].resize(2 * (c > 0 && halve_x ? 2 * across : across));
  }
  const auto place = [&](int c, int y) {
    return planes_[c].data() + static_cast<std::size_t>(y) * plane_width(geometry.component[c]);
  };
  for (int y = 0; y < geometry.height; ++y, rgb += 3 * width) {
    const std::size_t half = halve_y && y % 2 == 1 ? 1 : 0;  // position in the pair of rows
    std::uint8_t* line[kMaxComponents];
    for (int c = 0; c < geometry.components; ++c) {
      line[c] = rows_[c].data() + half * rows_[c].size() / 2;
    }
    for (std::size_t x = 0; x < width; ++x) {
      if (geometry.components == 1) {
        line[0][x] = rgb[3 * x];
        continue;
      }
      const Ycc pixel = ycc_of(rgb[3 * x], rgb[3 * x + 1], rgb[3 * x + 2]);
      line[0][x] = pixel.luma;
      line[1][x] = pixel.blue;
      line[2][x] = pixel.red;
    }
    for (int c = 0; c < geometry.components; ++c) {
      const std::size_t across = plane_width(geometry.component[c]);
      const bool coarse = c > 0 && halve_x;
      extend(line[c], width, coarse ? 2 * across : across);
      if (!coarse) {
        std::memcpy(place(c, y), line[c], across);
      } else if (!halve_y) {
        average(place(c, y), line[c], nullptr, across);
      } else if (half == 1 || y + 1 == geometry.height) {
        average(place(c, y / 2), rows_[c].data(), line[c], across);
      }
    }
  }
  for (int c = 0; c < geometry.components; ++c) {
    const Component& component = geometry.component[c];
    const std::uint8_t* last = place(c, component.height - 1);
    for (int y = component.height; y < component.blocks_y * kBlock; ++y) {
      std::memcpy(place(c, y), last, plane_width(component));
    }
  }
}

void JpegEncoder::encode(Coefficients& out, std::vector<std::byte>& restore,
                         const std::uint8_t* rgb, Size size, const JpegSettings& settings) {
  out.geometry = make_geometry(size.width, size.height, settings.sampling);
  out.color = Color::ycc;
  fill_planes(rgb, out.geometry);
  for (int c = 0; c < kMaxComponents; ++c) {
    out.blocks[c].clear();
    if (c >= out.geometry.components) continue;
    const Component& component = out.geometry.component[c];
    const std::size_t stride = plane_width(component);
    out.quantization[c] = standard_quantization(settings.quality, c > 0);
    out.blocks[c].resize(static_cast<std::size_t>(component.blocks_x) *
                         static_cast<std::size_t>(component.blocks_y));
    for (std::size_t i = 0; i < out.blocks[c].size(); ++i) {
      const std::size_t x = i % static_cast<std::size_t>(component.blocks_x);
      const std::size_t y = i / static_cast<std::size_t>(component.blocks_x);
      forward_dct(out.blocks[c][i], planes_[c].data() + (y * stride + x) * kBlock,
                  static_cast<std::ptrdiff_t>(stride), out.quantization[c]);
    }
  }
  put_restore(restore, out);
}

}  // namespace tundish::lanes
