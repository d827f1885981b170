// Pillow's GaussianBlur filter: three box blurs along each axis. Shared memory holds two tiles of
// lines; each pass reads one tile and writes the other.
#pragma once

#include "augment/pixels/blur/blur_ops.h"
#include "cuda/augment/image_block.cuh"

namespace tundish::cuda {

// Lines of samples in a tile. Neighboring threads process neighboring lines.
struct TileLines {
  int lines, length;
  int rows;   // line l begins at l % rows * pitch + l / rows
  int pitch;  // 4 times an odd number if rows > 1, so that a column spans all banks
  int step;   // distance between neighboring samples of a line
};

// Calls run(start, first, end) for parts of all lines, one part per thread. `start` is the byte
// where the line begins. Then synchronizes all threads.
template <class Run>
__device__ void for_parts(const TileLines& tile, const Run& run) {
  const int parts = max(kBlockThreads / tile.lines, 1);
  const int part = (tile.length + parts - 1) / parts;
  for (int task = first_index(); task < tile.lines * parts; task += kBlockThreads) {
    const int number = task / tile.lines, line = task - number * tile.lines;
    const int column = line / tile.rows, start = (line - column * tile.rows) * tile.pitch + column;
    const int first = number * part, end = min(first + part, tile.length);
    if (first < end) run(start, first, end);
  }
  __syncthreads();
}

// Runs one pass along all lines; the end samples are repeated beyond the ends.
__device__ inline void box_pass(std::uint8_t* to, const std::uint8_t* from, const TileLines& tile,
                                const Box& box) {
  for_parts(tile, [&](int start, int first, int end) {
    const auto read = [&](int i) {
      return std::uint32_t{from[start + min(max(i, 0), tile.length - 1) * tile.step]};
    };
    std::uint32_t inside = 0;  // sum for the sample before `first`
    for (int i = first - 1 - box.radius; i < first + box.radius; ++i) inside += read(i);
    std::uint32_t enters = read(first + box.radius);
    for (int i = first; i < end; ++i) {
      const std::uint32_t before = read(i - box.radius - 1), after = read(i + box.radius + 1);
      inside += enters - before;
      enters = after;
      to[start + i * tile.step] = box_level(box, inside, before + after);
    }
  });
}

// The samples that a small box pass needs for one level: kRadius + 1 on both sides of the sample.
template <int kRadius>
struct BoxWindow {
  static constexpr int kSamples = 2 * kRadius + 3;
  std::uint32_t sample[kSamples] = {};

  __device__ void push(std::uint32_t next) {
#pragma unroll
    for (int k = 0; k + 1 < kSamples; ++k) sample[k] = sample[k + 1];
    sample[kSamples - 1] = next;
  }
  __device__ void fill(std::uint32_t all) {
#pragma unroll
    for (int k = 0; k < kSamples; ++k) sample[k] = all;
  }
  __device__ std::uint32_t level(const Box& box) const {
    std::uint32_t inside = sample[1];
#pragma unroll
    for (int k = 2; k + 1 < kSamples; ++k) inside += sample[k];
    return box_level(box, inside, sample[0] + sample[kSamples - 1]);
  }
};

// Three passes of a small box at once along a part of a line, in registers. When sample i is read,
// pass p produces level i - (p + 1) * kDelay.
template <int kRadius>
struct BoxStream {
  static constexpr int kDelay = kRadius + 1, kBehind = kBoxPasses * kDelay;
  const std::uint8_t* from;
  std::uint8_t* to;
  int length, step;
  Box box;
  BoxWindow<kRadius> window[kBoxPasses];
  std::uint32_t level = 0;  // output of the last pass

  __device__ void add(std::uint32_t sample) {
#pragma unroll
    for (int p = 0; p < kBoxPasses; ++p) {
      window[p].push(sample);
      sample = window[p].level(box);
    }
    level = sample;
  }
  // Like add(), near an end: beyond the end, each pass repeats the last level of the previous pass.
  __device__ void add_near_end(int i, std::uint32_t (&last)[kBoxPasses]) {
    std::uint32_t sample = from[min(max(i, 0), length - 1) * step];
#pragma unroll
    for (int p = 0; p < kBoxPasses; ++p) {
      window[p].push(sample);
      const int made = i - (p + 1) * kDelay;
      if (made < length) last[p] = window[p].level(box);
      sample = last[p];
      if (p + 1 < kBoxPasses && made == 0) window[p + 1].fill(sample);
    }
    level = sample;
  }
  __device__ void run(int first, int end) {
    std::uint32_t last[kBoxPasses] = {};
    int i = first - kBehind;
    for (; i < first + kBehind; ++i) add_near_end(i, last);
    const int inside = min(end + kBehind, length);
    std::uint32_t next = from[min(i, length - 1) * step];
#pragma unroll BoxWindow < kRadius> ::kSamples
    for (; i < inside; ++i) {
      const std::uint32_t sample = next;
      next = from[min(i + 1, length - 1) * step];
      add(sample);
      to[(i - kBehind) * step] = static_cast<std::uint8_t>(level);
    }
    for (; i < end + kBehind; ++i) {
      add_near_end(i, last);
      to[(i - kBehind) * step] = static_cast<std::uint8_t>(level);
    }
  }
};

// Runs all passes from `tile`; the result is in `spare`.
template <int kRadius>
__device__ void small_box_passes(std::uint8_t* spare, const std::uint8_t* tile,
                                 const TileLines& lines, const Box& box) {
  for_parts(lines, [&](int start, int first, int end) {
    BoxStream<kRadius>{tile + start, spare + start, lines.length, lines.step, box}.run(first, end);
  });
}
__device__ inline void box_passes(std::uint8_t* spare, std::uint8_t* tile, const TileLines& lines,
                                  const Box& box) {
  if (box.radius == 0) return small_box_passes<0>(spare, tile, lines, box);
  if (box.radius == 1) return small_box_passes<1>(spare, tile, lines, box);
  box_pass(spare, tile, lines, box);
  box_pass(tile, spare, lines, box);
  box_pass(spare, tile, lines, box);
}

// Divides a line of n samples into pieces of `kept` samples with `halo` more on both sides. A pass
// corrupts the ends of a piece by the box radius + 1; there are three passes.
struct Pieces {
  int kept, halo;
};
__device__ inline Pieces pieces_of(int n, int room, const Box& box) {
  if (n <= room) return {n, 0};
  const int halo = (kBoxPasses * (box.radius + 1) + 3) / 4 * 4;  // keeps words aligned
  return {(room - 2 * halo) / 4 * 4, halo};
}

// Both functions compute image.other from image.rgb and swap the two. A tile is loaded while the
// result of the previous tile is stored.

TUNDISH_STEP void box_across(BlockImage& image, const Box& box) {
  const int width = image.size.width, height = image.size.height;
  const int room = image.space_bytes / 2 / 4 * 4;
  const Pieces pieces = pieces_of(width, room / (3 * 8) - 4, box);  // at least eight rows
  const int pitch = (3 * min(pieces.kept + 2 * pieces.halo, width) + 3) / 8 * 8 + 4;
  const int rows = min(min(room / pitch, 32), height);
  auto* const tile = reinterpret_cast<std::uint8_t*>(block_space);
  std::uint8_t* const spare = tile + room;
  const auto from_of = [&](int left) { return max(left - pieces.halo, 0); };
  const auto length_of = [&](int left) {
    return min(left + pieces.kept + pieces.halo, width) - from_of(left);
  };
  const auto load = [&](int left, int top) {
    load_rows({tile, pitch},
              {image.rgb + std::ptrdiff_t{3} * (top * width + from_of(left)), 3 * width},
              3 * length_of(left), min(rows, height - top));
  };
  load(0, 0);
  for (int left = 0, top = 0; left < width;) {
    const int count = min(rows, height - top);
    wait_for_rows();
    box_passes(spare, tile, {3 * count, length_of(left), count, pitch, 3}, box);
    const bool same_left = top + rows < height;
    const int next_left = same_left ? left : left + pieces.kept,
              next_top = same_left ? top + rows : 0;
    if (next_left < width) load(next_left, next_top);
    store_rows({image.other + std::ptrdiff_t{3} * (top * width + left), 3 * width},
               {spare + 3 * (left - from_of(left)), pitch}, 3 * min(pieces.kept, width - left),
               count);
    left = next_left;
    top = next_top;
  }
  __syncthreads();
  exchange(image);
}

TUNDISH_STEP void box_down(BlockImage& image, const Box& box) {
  constexpr int kMaxColumns = 96, kMinColumns = 32;
  const int row = 3 * image.size.width, height = image.size.height;
  const int room = image.space_bytes / 2 / 4 * 4;
  const int columns = height * kMaxColumns <= room ? kMaxColumns : kMinColumns;
  const Pieces pieces = pieces_of(height, room / columns, box);
  auto* const tile = reinterpret_cast<std::uint8_t*>(block_space);
  std::uint8_t* const spare = tile + room;
  const auto from_of = [&](int top) { return max(top - pieces.halo, 0); };
  const auto length_of = [&](int top) {
    return min(top + pieces.kept + pieces.halo, height) - from_of(top);
  };
  const auto load = [&](int left, int top) {
    load_rows({tile, columns}, {image.rgb + std::ptrdiff_t{from_of(top)} * row + left, row},
              min(columns, row - left), length_of(top));
  };
  load(0, 0);
  for (int left = 0, top = 0; left < row;) {
    const int count = min(columns, row - left);
    wait_for_rows();
    box_passes(spare, tile, {count, length_of(top), 1, 0, columns}, box);
    const bool same_left = top + pieces.kept < height;
    const int next_left = same_left ? left : left + columns;
    const int next_top = same_left ? top + pieces.kept : 0;
    if (next_left < row) load(next_left, next_top);
    store_rows({image.other + std::ptrdiff_t{top} * row + left, row},
               {spare + (top - from_of(top)) * columns, columns}, count,
               min(pieces.kept, height - top));
    left = next_left;
    top = next_top;
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
