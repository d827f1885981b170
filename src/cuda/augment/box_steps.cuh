// Pillow's GaussianBlur filter: three box blurs along each axis. Tiles of lines lie in shared
// memory, twice: each pass goes from one to the other.
#pragma once

#include "augment/pixels/blur/blur_ops.h"
#include "cuda/augment/image_block.cuh"

namespace tundish::cuda {

// Lines of samples in a tile. Neighbouring threads have neighbouring lines.
struct TileLines {
  int lines, length;
  int rows;   // line l begins at l % rows * pitch + l / rows
  int pitch;  // 4 times an odd number where rows > 1: a column lies in all banks
  int step;   // from one sample of a line to the next
};

// One pass along all lines; beyond the ends, the last sample goes on.
__device__ inline void box_pass(std::uint8_t* __restrict__ to,
                                const std::uint8_t* __restrict__ from, const TileLines& tile,
                                const Box& box) {
  const int parts = max(kBlockThreads / tile.lines, 1);
  const int part = (tile.length + parts - 1) / parts, last = tile.length - 1;
  for (int task = first_index(); task < tile.lines * parts; task += kBlockThreads) {
    const int number = task / tile.lines, line = task - number * tile.lines;
    const int column = line / tile.rows, start = (line - column * tile.rows) * tile.pitch + column;
    const auto read = [&](int i) {
      return std::uint32_t{from[start + min(max(i, 0), last) * tile.step]};
    };
    const int first = number * part, end = min(first + part, tile.length);
    std::uint32_t inside = 0;  // of the sample before the first
    for (int i = first - 1 - box.radius; i < first + box.radius; ++i) inside += read(i);
    std::uint32_t enters = read(first + box.radius);
#pragma unroll 4
    for (int i = first; i < end; ++i) {
      const std::uint32_t before = read(i - box.radius - 1), after = read(i + box.radius + 1);
      inside += enters - before;
      enters = after;
      to[start + i * tile.step] = box_level(box, inside, before + after);
    }
  }
  __syncthreads();
}

// Three passes; gives where the result is.
__device__ inline std::uint8_t* box_passes(std::uint8_t* tile, std::uint8_t* spare,
                                           const TileLines& lines, const Box& box) {
  box_pass(spare, tile, lines, box);
  box_pass(tile, spare, lines, box);
  box_pass(spare, tile, lines, box);
  return spare;
}

// How a line of n samples is cut: pieces of `kept` samples, with `halo` more on both sides. What a
// pass makes of the ends of a piece is wrong by a box and one more, three times.
struct Pieces {
  int kept, halo;
};
__device__ inline Pieces pieces_of(int n, int room, const Box& box) {
  if (n <= room) return {n, 0};
  const int halo = (kBoxPasses * (box.radius + 1) + 3) / 4 * 4;  // words stay words
  return {(room - 2 * halo) / 4 * 4, halo};
}

// Both make image.other from image.rgb, and exchange them.

TUNDISH_STEP void box_across(BlockImage& image, const Box& box) {
  const int width = image.size.width, height = image.size.height;
  const int room = image.space_bytes / 2;
  const Pieces pieces = pieces_of(width, room / (3 * 8) - 4, box);  // eight rows at least
  const int pitch = (3 * (min(pieces.kept + 2 * pieces.halo, width)) + 3) / 8 * 8 + 4;
  const int rows = min(room / pitch, 32);
  auto* const tile = reinterpret_cast<std::uint8_t*>(block_space);
  for (int left = 0; left < width; left += pieces.kept) {
    const int from = max(left - pieces.halo, 0);
    const int to = min(left + pieces.kept + pieces.halo, width);
    const int kept = min(pieces.kept, width - left);
    for (int top = 0; top < height; top += rows) {
      const int count = min(rows, height - top);
      const std::ptrdiff_t row = std::ptrdiff_t{3} * top * width;
      copy_rows(tile, pitch, image.rgb + row + 3 * from, 3 * width, 3 * (to - from), count);
      __syncthreads();
      const std::uint8_t* const made =
          box_passes(tile, tile + room / 4 * 4, {3 * count, to - from, count, pitch, 3}, box);
      copy_rows(image.other + row + 3 * left, 3 * width, made + 3 * (left - from), pitch, 3 * kept,
                count);
      // The next rows go to `tile`, which nobody reads now; what was made is read until the
      // barrier after that.
    }
  }
  __syncthreads();
  exchange(image);
}

TUNDISH_STEP void box_down(BlockImage& image, const Box& box) {
  constexpr int kMostColumns = 96, kLeastColumns = 32;
  const int row = 3 * image.size.width, height = image.size.height;
  const int room = image.space_bytes / 2 / 4 * 4;
  const int columns = height * kMostColumns <= room ? kMostColumns : kLeastColumns;
  const Pieces pieces = pieces_of(height, room / columns, box);
  auto* const tile = reinterpret_cast<std::uint8_t*>(block_space);
  for (int left = 0; left < row; left += columns) {
    const int count = min(columns, row - left);
    for (int top = 0; top < height; top += pieces.kept) {
      const int from = max(top - pieces.halo, 0);
      const int to = min(top + pieces.kept + pieces.halo, height);
      copy_rows(tile, columns, image.rgb + std::ptrdiff_t{from} * row + left, row, count,
                to - from);
      __syncthreads();
      const std::uint8_t* const made =
          box_passes(tile, tile + room, {count, to - from, 1, 0, columns}, box);
      copy_rows(image.other + std::ptrdiff_t{top} * row + left, row, made + (top - from) * columns,
                columns, count, min(pieces.kept, height - top));
    }
  }
  __syncthreads();
  exchange(image);
}

__device__ inline void box_blur(BlockImage& image, const PixelStep& step) {
  apply_table(image);
  const Box box = box_of(step.value[0]);
  box_across(image, box);
  box_down(image, box);
}

}  // namespace tundish::cuda
