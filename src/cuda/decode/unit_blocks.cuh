// Reconstructs a decoded unit's wanted blocks by a warp: dequantizes, transforms and stores the
// blocks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "codec/lanes/coefficients.h"
#include "cuda/decode/unit_entropy.cuh"

namespace tundish::cuda {

// 63 - z for the coefficients of a column, by row, one byte each; z is the zigzag position.
struct ShiftsOfColumn {
  std::uint32_t rows[8][2];
};
constexpr ShiftsOfColumn make_shifts() {
  ShiftsOfColumn out = {};
  for (unsigned z = 0; z < 64; ++z) {
    const unsigned place = lanes::kZigzag[z], x = place % 8, y = place / 8;
    out.rows[x][y / 4] |= (63 - z) << (8 * (y % 4));
  }
  return out;
}
__constant__ const ShiftsOfColumn kShifts = make_shifts();

// Zigzag positions in the low 4 x 4 corner, as a bit mask.
constexpr std::uint64_t make_low_places() {
  std::uint64_t out = 0;
  for (unsigned z = 0; z < 64; ++z) {
    if (lanes::kZigzag[z] % 8 < 4 && lanes::kZigzag[z] / 8 < 4) out |= std::uint64_t{1} << z;
  }
  return out;
}
constexpr std::uint64_t kLowPlaces = make_low_places();

// Number of wanted blocks per class: DC only, low frequencies only, any.
struct Classes {
  int dc, low, all;
};

// Packs a list entry: number of the block, x and y in the unit.
__device__ __forceinline__ std::uint16_t list_entry(int b, int x, int y) {
  return static_cast<std::uint16_t>(b | x << 8 | y << 12);
}

__device__ __forceinline__ Classes sort_blocks(WarpMemory& w, const Unit& unit) {
  const ImageTask& image = *unit.image;
  int count[2] = {0, 0};
  const unsigned per_luma = (65536 + unit.luma.across - 1) / unit.luma.across;
  const unsigned per_chroma = (65536 + unit.chroma.across - 1) / unit.chroma.across;
#pragma unroll 1
  for (int from = 0; from < unit.blocks; from += 32) {
    const int b = from + lane_id();
    int kind = 3;
    if (b < unit.blocks) {
      const int c = unit.component(b);
      const UnitBlocks& part = c == 0 ? unit.luma : unit.chroma;
      const int place = b - (c == 0 ? 0 : unit.luma_blocks + (c - 1) * unit.chroma_blocks);
      const int y = static_cast<int>(place * (c == 0 ? per_luma : per_chroma) >> 16);
      int x = place - y * part.across;
      if (y % 2 == 1) x = part.across - 1 - x;
      const PlaneTask& plane = image.plane[c];
      const int column = part.x0 + x, row = part.y0 + y;
      if (column >= plane.x0 && column < plane.x1 && row >= plane.y0 && row < plane.y1) {
        const std::uint64_t mask = w.mask[b];
        kind = mask == 0 ? 0 : (mask & ~kLowPlaces) == 0 ? 1 : 2;
      }
      w.class_of[b] = static_cast<std::uint16_t>(x | y << 4 | kind << 8);
    }
    count[0] += __popc(__ballot_sync(kAllLanes, kind == 0));
    count[1] += __popc(__ballot_sync(kAllLanes, kind == 1));
  }
  __syncwarp();
  int at[3] = {0, count[0], count[0] + count[1]};
#pragma unroll 1
  for (int from = 0; from < unit.blocks; from += 32) {
    const int b = from + lane_id();
    const unsigned entry = b < unit.blocks ? w.class_of[b] : 3u << 8;
    const unsigned kind = entry >> 8;
#pragma unroll
    for (unsigned k = 0; k < 3; ++k) {
      const unsigned all = __ballot_sync(kAllLanes, kind == k);
      if (kind == k) {
        w.list[at[k] + __popc(all & lanes_below())] =
            list_entry(b, static_cast<int>(entry & 15), static_cast<int>(entry >> 4 & 15));
      }
      at[k] += __popc(all);
    }
  }
  __syncwarp();
  return {count[0], count[1], at[2] - count[0] - count[1]};
}

__device__ __forceinline__ std::int16_t low_half(int value) {
  return static_cast<std::int16_t>(value);
}

// Destination of blocks: the planes of the unit's components.
struct Target {
  std::uint8_t* base[3];  // address of the unit's first block; may be before the plane
  std::uint32_t pitch[2];

  __device__ __forceinline__ Target(std::uint8_t* planes, const Unit& unit) {
    for (int c = 0; c < 3; ++c) {
      const PlaneTask& plane = unit.image->plane[c];
      const UnitBlocks& part = c == 0 ? unit.luma : unit.chroma;
      base[c] = planes + static_cast<std::size_t>(plane.at) * kPlaneAlign +
                std::ptrdiff_t{8} * (part.y0 - plane.y0) * static_cast<int>(plane.pitch) +
                8 * (part.x0 - plane.x0);
    }
    pitch[0] = unit.image->plane[0].pitch;
    pitch[1] = unit.image->plane[1].pitch;
  }

  // Returns the address of row t of a block.
  __device__ __forceinline__ uint2* row(unsigned entry, int c, int t) const {
    const unsigned y = 8 * (entry >> 12) + static_cast<unsigned>(t);
    std::uint8_t* to = c == 0 ? base[0] : c == 1 ? base[1] : base[2];
    return reinterpret_cast<uint2*>(to + y * (c == 0 ? pitch[0] : pitch[1]) +
                                    8 * (entry >> 8 & 15));
  }
};

__device__ __forceinline__ int escaped_value(const Values& values, const RawBits& raw, int i) {
  const EscapeStep step = values.step[i / 32];
  const int rank = static_cast<int>(step.before) + __popc(step.which & ((1u << (i % 32)) - 1));
  const int magnitude = values.escape[rank];
  return low_half(raw.from(i) & 1 ? -magnitude : magnitude);
}

// Reads one column of a block's values; escaped values come from the escapes.
template <int kRows>
__device__ __forceinline__ void read_column(int (&column)[8], std::uint64_t mask, int before,
                                            const std::uint32_t (&shifts)[2], const Values& values,
                                            const RawBits& raw) {
  // Shifts the mask so that the coefficient's bit is on top; the ones count values up to it.
  unsigned escaped = 0;
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const std::uint64_t ones = mask << (shifts[r / 4] >> (8 * (r % 4)) & 255);
    if (static_cast<std::int64_t>(ones) < 0) {
      column[r] = static_cast<std::int8_t>(values.value[before + __popcll(ones)]);
    }
    if (column[r] == -128) escaped |= 1u << r;
  }
#pragma unroll 1
  for (; escaped != 0; escaped &= escaped - 1) {
    const int which = __ffs(static_cast<int>(escaped)) - 1;
    const std::uint32_t four = which < 4 ? shifts[0] : shifts[1];
    const std::uint64_t ones = mask << (four >> (8 * (which % 4)) & 255);
    const int value = escaped_value(values, raw, before + __popcll(ones));
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (which == r) column[r] = value;
    }
  }
}

// Turns columns of coefficients into rows of samples. Both passes of the inverse DCT exchange data
// through `between`.
template <int kRows>
__device__ __forceinline__ void transform(int (&sums)[8], const int (&column)[8],
                                          std::int16_t* between, int t) {
  lanes::idct_pass(sums, column, lanes::kColumnStart);
  __syncwarp();
#pragma unroll
  for (int r = 0; r < 8; ++r) between[8 * r + t] = low_half(sums[r] >> lanes::kColumnShift);
  __syncwarp();
  const uint4 row = *reinterpret_cast<const uint4*>(between + 8 * t);
  const std::uint32_t halves[4] = {row.x, row.y, row.z, row.w};
  int across[8] = {};
#pragma unroll
  for (int x = 0; x < kRows; ++x) {
    across[x] = x % 2 == 0 ? low_half(static_cast<int>(halves[x / 2]))
                           : static_cast<int>(halves[x / 2]) >> 16;
  }
  lanes::idct_pass(sums, across, lanes::kRowStart);
#pragma unroll
  for (int x = 0; x < 8; ++x) sums[x] >>= lanes::kRowShift;
}

// Makes entries `from` to `to` of the list, four at a time: eight lanes compute the columns of a
// block, then the rows. With `kLow`, only the low 4 x 4 corner is not zero.
template <bool kLow>
__device__ __forceinline__ void make_blocks(WarpMemory& w, const Unit& unit, const Values& values,
                                            const RawBits& raw, const Target& target, int from,
                                            int to) {
  constexpr int kRows = kLow ? 4 : 8;
  const int group = lane_id() / 8, t = lane_id() % 8;
  const std::uint32_t shifts[2] = {kShifts.rows[t][0], kShifts.rows[t][1]};
#pragma unroll 1
  for (int i = from; i < to; i += 4) {
    const unsigned entry = w.list[min(i + group, to - 1)];
    const int b = static_cast<int>(entry & 255);
    const int c = unit.component(b);
    const uint4 quantizers = *reinterpret_cast<const uint4*>(w.quantizer[c] + 8 * t);
    int column[8] = {};
    read_column<kRows>(column, w.mask[b], w.start[b] - 1, shifts, values, raw);
    __syncwarp();
    if (t == 0) column[0] = w.dc[b];
    const std::uint32_t pairs[4] = {quantizers.x, quantizers.y, quantizers.z, quantizers.w};
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const int quantizer =
          static_cast<int>(r % 2 == 0 ? pairs[r / 2] & 0xffff : pairs[r / 2] >> 16);
      column[r] = low_half(column[r] * quantizer);
    }
    int sums[8];
    transform<kRows>(sums, column, w.between[group], t);
    if (i + group < to) {
      *target.row(entry, c, t) = make_uint2(clip_four(sums), clip_four(sums + 4));
    }
  }
}

__device__ __forceinline__ void make_flat_blocks(const WarpMemory& w, const Unit& unit,
                                                 const Target& target, int count) {
  const int group = lane_id() / 8, t = lane_id() % 8;
#pragma unroll 1
  for (int i = group; i < count; i += 4) {
    const unsigned entry = w.list[i];
    const int b = static_cast<int>(entry & 255);
    const int c = unit.component(b);
    const int level = lanes::idct_of_dc(low_half(w.dc[b] * w.quantizer[c][0]));
    const std::uint32_t four = static_cast<std::uint32_t>(min(max(level, 0), 255)) * 0x01010101u;
    *target.row(entry, c, t) = make_uint2(four, four);
  }
}

// Stores columns contiguously, so that a lane's eight values are adjacent.
__device__ __forceinline__ void load_quantizers(WarpMemory& w, const ImageTask& image) {
  for (int i = lane_id(); i < 3 * 64; i += 32) {
    w.quantizer[i / 64][i % 8 * 8 + i / 8 % 8] = image.quantization[i / 64][i % 64];
  }
  __syncwarp();
}

}  // namespace tundish::cuda
