// Entropy decoding of a unit by a warp: starts, masks, values, signs and DC.
#pragma once

#include <cstdint>

#include "cuda/decode/unit_warp.cuh"

namespace tundish::cuda {

struct Unit {
  const ImageTask* image;
  UnitBlocks luma, chroma;
  int luma_blocks, chroma_blocks, blocks;

  __device__ __forceinline__ int component(int b) const {
    return b < luma_blocks ? 0 : b < luma_blocks + chroma_blocks ? 1 : 2;
  }
};

__device__ __forceinline__ Unit unit_of(const UnitTask& task, const ImageTask* images) {
  Unit unit;
  unit.image = images + task.image;
  unit.luma = blocks_of(unit.image->plane[0], task.x, task.y);
  unit.chroma = {0, 0, 1, 0};
  if (unit.image->components == 3) unit.chroma = blocks_of(unit.image->plane[1], task.x, task.y);
  unit.luma_blocks = unit.luma.count();
  unit.chroma_blocks = unit.chroma.count();
  unit.blocks = unit.luma_blocks + 2 * unit.chroma_blocks;
  return unit;
}

__device__ __forceinline__ void read_starts(WarpMemory& w, Lanes& lanes, const Unit& unit,
                                            const SharedTables& tables) {
  const TableName* names = tables.start[unit.image->set];
#pragma unroll 1
  for (int from = 0; from < unit.blocks; from += 32) {
    const int b = from + lane_id();
    const bool active = b < unit.blocks;
    const unsigned start = lanes.symbol(active, names[b >= unit.luma_blocks], tables);
    if (active) {
      w.dc_size[b] = static_cast<std::uint8_t>(start >> 4);
      w.octets[b] = static_cast<std::uint8_t>(min(start & 15u, 8u));
      w.mask[b] = 0;
    }
  }
  __syncwarp();
}

// Reads masks from the highest octet to the lowest, for the blocks that have the octet.
__device__ __forceinline__ void read_masks(WarpMemory& w, Lanes& lanes, const Unit& unit,
                                           const SharedTables& tables) {
  auto* masks = reinterpret_cast<std::uint8_t*>(w.mask);
  auto* with_it = reinterpret_cast<std::uint8_t*>(w.list);
  const auto& names = tables.mask[unit.image->set];
#pragma unroll 1
  for (int octet = 7; octet >= 0; --octet) {
    int count = 0;
#pragma unroll 1
    for (int from = 0; from < unit.blocks; from += 32) {
      const int b = from + lane_id();
      const bool has = b < unit.blocks && w.octets[b] > octet;
      const unsigned all = __ballot_sync(kAllLanes, has);
      if (has) with_it[count + __popc(all & lanes_below())] = static_cast<std::uint8_t>(b);
      count += __popc(all);
    }
    __syncwarp();
#pragma unroll 1
    for (int from = 0; from < count; from += 32) {
      const bool active = from + lane_id() < count;
      const int b = active ? with_it[from + lane_id()] : 0;
      int context = 0;
      if (active && w.octets[b] > octet + 1) {
        const int ones = __popc(masks[8 * b + octet + 1]);
        context = ones == 0 ? 8 : min(ones, 7);
      }
      const unsigned mask =
          lanes.symbol(active, names[b >= unit.luma_blocks][octet][context], tables);
      // The DC bit is dropped: DC is coded separately.
      if (active) masks[8 * b + octet] = static_cast<std::uint8_t>(octet == 0 ? mask & 0xfe : mask);
    }
    __syncwarp();
  }
}

// Computes where each block's values begin; returns the total number of values.
__device__ __forceinline__ int lay_out_values(WarpMemory& w, const Unit& unit) {
  int values = 0;
#pragma unroll 1
  for (int from = 0; from < unit.blocks; from += 32) {
    const int b = from + lane_id();
    const int count = b < unit.blocks ? __popcll(w.mask[b]) : 0;
    const int end = values + sum_up_to_lane(count);
    if (b < unit.blocks) w.start[b] = static_cast<std::uint16_t>(end - count);
    values = __shfl_sync(kAllLanes, end, 31);
  }
  if (lane_id() == 0) w.start[unit.blocks] = static_cast<std::uint16_t>(values);
  __syncwarp();
  return values;
}

// Writes the Rice parameters of four blocks' values into the ring; eight lanes per block.
__device__ __forceinline__ void write_rice(WarpMemory& w, const Unit& unit, int from,
                                           const std::uint8_t (&rice)[2][64][64]) {
  const int b = from + lane_id() / 8, t = lane_id() % 8;
  int at = 0, count = 0;
  if (b < unit.blocks) {
    at = w.start[b];
    count = w.start[b + 1] - at;
  }
  const std::uint8_t* row = rice[b >= unit.luma_blocks][count] + t;
  std::uint8_t first[3];
#pragma unroll
  for (int i = 0; i < 3; ++i) {
    if (t + 8 * i < count) first[i] = row[8 * i];
  }
#pragma unroll
  for (int i = 0; i < 3; ++i) {
    if (t + 8 * i < count) w.rice[(at + t + 8 * i) % kRiceRing] = first[i];
  }
#pragma unroll 1
  for (int i = 24; i + t < count; i += 8) w.rice[(at + t + i) % kRiceRing] = row[i];
}

// A unit's values and escapes, with their counts.
struct Values {
  std::uint8_t* value;
  EscapeStep* step;
  std::uint16_t* escape;
  int count, escapes;
};

constexpr std::uint8_t kEscapeMark = 0x80;  // no value has it

// Reads magnitudes. An escape is first stored as its parameter and low bits.
__device__ __forceinline__ void read_values(Values& values, WarpMemory& w, Lanes& lanes,
                                            const Unit& unit,
                                            const std::uint8_t (&rice)[2][64][64]) {
  const int lane = lane_id();
  values.escapes = 0;
  int blocks = 0, known = 0;  // blocks whose parameters are in the ring; values covered
#pragma unroll 1
  for (int from = 0; from < values.count; from += 32) {
    if (known < from + 32 && known < values.count) {
      __syncwarp();
#pragma unroll 1
      do {
        write_rice(w, unit, blocks, rice);
        blocks += 4;
        known = w.start[min(blocks, unit.blocks)];
      } while (known < from + 32 && known < values.count);
      __syncwarp();
    }
    const int i = from + lane;
    const bool active = i < values.count;
    const unsigned parameter = active ? w.rice[i % kRiceRing] : 0;
    const unsigned code = lanes.value(active, parameter);
    // The limits are 14, 26, 48, 88, 127, ...
    const unsigned limit = __byte_perm(0x58301a0e, 0x7f7f7f7f, parameter) & 255;
    const bool escaped = active && code >= limit;
    const unsigned all = __ballot_sync(kAllLanes, escaped);
    if (active) values.value[i] = escaped ? kEscapeMark : static_cast<std::uint8_t>(code + 1);
    if (all != 0) {
      if (escaped) {
        values.escape[values.escapes + __popc(all & lanes_below())] =
            static_cast<std::uint16_t>(parameter << 8 | (code & ((1u << parameter) - 1)));
      }
      if (lane == 0) values.step[from / 32] = {all, static_cast<std::uint32_t>(values.escapes)};
      values.escapes += __popc(all);
    }
  }
  __syncwarp();
#pragma unroll 1
  for (int from = 0; from < values.escapes; from += 32) {
    const int i = from + lane;
    const bool active = i < values.escapes;
    const unsigned high = lanes.bits(active, 11);
    if (active) {
      const unsigned parameter = values.escape[i] >> 8, low = values.escape[i] & 255;
      values.escape[i] = static_cast<std::uint16_t>((high << parameter | low) + 1);
    }
  }
  __syncwarp();
}

__device__ __forceinline__ int count_dc_bits(const WarpMemory& w, const Unit& unit) {
  int sum = 0;
  for (int b = lane_id(); b < unit.blocks; b += 32) sum += w.dc_size[b];
  return __shfl_sync(kAllLanes, sum_up_to_lane(sum), 31);
}

// Processes four values at a time: no value is 0, so no carry crosses bytes. Four words are in
// flight at once.
__device__ __forceinline__ void put_signs(const Values& values, const RawBits& raw) {
  const int lane = lane_id();
  auto* words = reinterpret_cast<std::uint32_t*>(values.value) + lane;
  const int count = (values.count + 3) / 4 - lane;  // words from this lane's first on
#pragma unroll 1
  for (int from = 0; 4 * from < values.count; from += 256) {
    const int first = 4 * from + 32 * lane;  // value
    const std::uint32_t mine = first < values.count ? raw.from(first) : 0;
#pragma unroll
    for (int half = 0; half < 8; half += 4) {
      std::uint32_t word[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int at = from + 32 * (half + i);
        word[i] = at < count ? words[at] : 0;
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int at = from + 32 * (half + i);
        const std::uint32_t signs = __shfl_sync(kAllLanes, mine, 4 * (half + i) + lane / 8);
        const std::uint32_t four = signs >> (4 * (lane % 8)) & 15;
        const std::uint32_t ones = four * 0x00204081u & 0x01010101u;
        if (at < count) words[at] = (word[i] ^ ones * 255) + ones;
      }
    }
  }
}

// Sums the DC differences to the previous block of the same component.
__device__ __forceinline__ void read_dc(WarpMemory& w, const Unit& unit, const RawBits& raw,
                                        int at) {
  int begin = 0, end = unit.luma_blocks;
#pragma unroll 1
  for (int c = 0; c < 3; ++c, begin = end, end += unit.chroma_blocks) {
    int dc = 0;
#pragma unroll 1
    for (int from = begin; from < end; from += 32) {
      const int b = from + lane_id();
      const int size = b < end ? w.dc_size[b] : 0;
      const int behind = sum_up_to_lane(size);
      int difference = 0;
      if (size > 0) {
        const int all = (1 << size) - 1;
        const int bits = static_cast<int>(raw.from(at + behind - size)) & all;
        difference = bits <= all >> 1 ? bits - all : bits;
      }
      at += __shfl_sync(kAllLanes, behind, 31);
      const int here = dc + sum_up_to_lane(difference);
      dc = __shfl_sync(kAllLanes, here, 31);
      if (b < end) w.dc[b] = static_cast<std::int16_t>(here);
    }
  }
}

}  // namespace tundish::cuda
