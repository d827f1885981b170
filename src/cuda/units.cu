// Coded units to samples: one warp per unit, in the order of the plan, longest first.
//
//   states and words -> starts -> masks -> values -> raw bits (signs, DC)        entropy decoding
//   -> blocks by class (DC only, low frequencies, all) -> inverse DCT -> planes  reconstruction
//
// A block of threads fills a multiprocessor: tables once, then as many warps as shared memory
// holds, each with a unit of its own and no barrier among them. Code is kept small (unroll 1):
// the warps stand in different phases, and the instruction cache serves all of them.
#include "cuda/kernels.h"
#include "cuda/runtime.h"
#include "cuda/unit_warp.cuh"
#include "lanes/coefficients.h"

namespace tundish::cuda {
namespace {

#ifndef TUNDISH_UNIT_WARPS
#define TUNDISH_UNIT_WARPS 28
#endif
constexpr int kMaxWarps = TUNDISH_UNIT_WARPS;

// 63 - z for the coefficients of column t, row by row, one byte each.
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

// Zigzag places in the low 4 x 4 corner.
constexpr std::uint64_t make_low_places() {
  std::uint64_t out = 0;
  for (unsigned z = 0; z < 64; ++z) {
    if (lanes::kZigzag[z] % 8 < 4 && lanes::kZigzag[z] / 8 < 4) out |= std::uint64_t{1} << z;
  }
  return out;
}
constexpr std::uint64_t kLowPlaces = make_low_places();

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

// From the highest octet to the lowest, of the blocks that have it.
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
      // The bit of DC does not count.
      if (active) masks[8 * b + octet] = static_cast<std::uint8_t>(octet == 0 ? mask & 0xfe : mask);
    }
    __syncwarp();
  }
}

// Where each block's values begin; gives the number of all.
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

// The parameter of every value, where the value will stand. Eight lanes per block.
__device__ __forceinline__ void write_rice(std::uint8_t* value, const WarpMemory& w,
                                           const Unit& unit, const DecodeTables* tables) {
  const auto& rice = tables->rice[unit.image->set];
  const int group = lane_id() / 8, t = lane_id() % 8;
#pragma unroll 1
  for (int from = 0; from < unit.blocks; from += 4) {
    const int b = from + group;
    int at = 0, count = 0;
    if (b < unit.blocks) {
      at = w.start[b];
      count = w.start[b + 1] - at;
    }
    const std::uint8_t* row = rice[b >= unit.luma_blocks][count] + t;
    std::uint8_t* to = value + at + t;
    std::uint8_t first[3];
#pragma unroll
    for (int i = 0; i < 3; ++i) {
      if (t + 8 * i < count) first[i] = row[8 * i];
    }
#pragma unroll
    for (int i = 0; i < 3; ++i) {
      if (t + 8 * i < count) to[8 * i] = first[i];
    }
#pragma unroll 1
    for (int i = 24; i + t < count; i += 8) to[i] = row[i];
  }
  __syncwarp();
}

// Where a unit's values and escapes are: in shared memory, or, when there are many, in global.
struct Values {
  std::uint8_t* value;
  EscapeStep* step;
  std::uint16_t* escape;        // the first kSharedEscapes
  std::uint16_t* more_escapes;  // the others
  int count, escapes;

  __device__ __forceinline__ std::uint16_t& escape_at(int i) const {
    return i < kSharedEscapes ? escape[i] : more_escapes[i];
  }
};

constexpr std::uint8_t kEscapeMark = 0x80;  // no value has it

// Magnitudes, in place of their parameters. An escape is left as its parameter and low bits.
__device__ __forceinline__ void read_values(Values& values, Lanes& lanes) {
  const int lane = lane_id();
  values.escapes = 0;
  unsigned next_rice = values.value[lane];
#pragma unroll 1
  for (int from = 0; from < values.count; from += 32) {
    const int i = from + lane;
    const bool active = i < values.count;
    const unsigned rice = active ? next_rice : 0;
    next_rice = values.value[i + 32];
    const unsigned code = lanes.value(active, rice);
    // From 14, 26, 48, 88, 127, ... on.
    const unsigned limit = __byte_perm(0x58301a0e, 0x7f7f7f7f, rice) & 255;
    const bool escaped = active && code >= limit;
    const unsigned all = __ballot_sync(kAllLanes, escaped);
    if (active) values.value[i] = escaped ? kEscapeMark : static_cast<std::uint8_t>(code + 1);
    if (all != 0) {
      if (escaped) {
        values.escape_at(values.escapes + __popc(all & lanes_below())) =
            static_cast<std::uint16_t>(rice << 8 | (code & ((1u << rice) - 1)));
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
      const unsigned rice = values.escape_at(i) >> 8, low = values.escape_at(i) & 255;
      values.escape_at(i) = static_cast<std::uint16_t>((high << rice | low) + 1);
    }
  }
  __syncwarp();
}

__device__ __forceinline__ int count_dc_bits(const WarpMemory& w, const Unit& unit) {
  int sum = 0;
  for (int b = lane_id(); b < unit.blocks; b += 32) sum += w.dc_size[b];
  return __shfl_sync(kAllLanes, sum_up_to_lane(sum), 31);
}

// Four values at a time: no carry goes from byte to byte, since none is 0.
__device__ __forceinline__ void put_signs(const Values& values, const RawBits& raw) {
  const int lane = lane_id();
  auto* words = reinterpret_cast<std::uint32_t*>(values.value);
#pragma unroll 1
  for (int from = 0; from < values.count; from += 1024) {
    const std::uint32_t mine = from + 32 * lane < values.count ? raw.from(from + 32 * lane) : 0;
#pragma unroll 1
    for (int i = 0; i < 8 && from + 128 * i < values.count; ++i) {
      const std::uint32_t signs = __shfl_sync(kAllLanes, mine, 4 * i + lane / 8);
      const std::uint32_t four = signs >> (4 * (lane % 8)) & 15;
      const std::uint32_t ones = four * 0x00204081u & 0x01010101u;
      std::uint32_t& word = words[from / 4 + 32 * i + lane];
      if (from + 128 * i + 4 * lane < values.count) word = (word ^ ones * 255) + ones;
    }
  }
}

// Differences to the block before in the same component, summed up.
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

// The wanted blocks, by class: how many have DC only, low frequencies only, any.
struct Classes {
  int dc, low, all;
};

// An entry of the list: number of the block, x and y in the unit.
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

// Where blocks go: planes of the unit's components.
struct Target {
  std::uint8_t* base[3];  // of the unit's first block; may lie before the plane
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

  // Row t of a block.
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
  const int magnitude = values.escape_at(rank);
  return low_half(raw.from(i) & 1 ? -magnitude : magnitude);
}

// Entries `from` to `to` of the list, four at a time: eight lanes make the columns of a block,
// then its rows. With `kLow`, only the low 4 x 4 corner is not zero.
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
    const std::uint64_t mask = w.mask[b];
    const int before = w.start[b] - 1;
    const uint4 quantisers = *reinterpret_cast<const uint4*>(w.quantiser[c] + 8 * t);

    // Column t: shifted so that its coefficient stands at the top, a mask's ones are those up to
    // it.
    int column[8] = {};
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
    __syncwarp();
    if (t == 0) column[0] = w.dc[b];
    const std::uint32_t pairs[4] = {quantisers.x, quantisers.y, quantisers.z, quantisers.w};
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const int quantiser =
          static_cast<int>(r % 2 == 0 ? pairs[r / 2] & 0xffff : pairs[r / 2] >> 16);
      column[r] = low_half(column[r] * quantiser);
    }

    int sums[8];
    lanes::idct_pass(sums, column, lanes::kColumnStart);
    std::int16_t* between = w.between[group];
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
    const int level = lanes::idct_of_dc(low_half(w.dc[b] * w.quantiser[c][0]));
    const std::uint32_t four = static_cast<std::uint32_t>(min(max(level, 0), 255)) * 0x01010101u;
    *target.row(entry, c, t) = make_uint2(four, four);
  }
}

// Column by column, so that a lane finds its eight in one piece.
__device__ __forceinline__ void load_quantisers(WarpMemory& w, const ImageTask& image) {
  for (int i = lane_id(); i < 3 * 64; i += 32) {
    w.quantiser[i / 64][i % 8 * 8 + i / 8 % 8] = image.quantisation[i / 64][i % 64];
  }
  __syncwarp();
}

// How much of the work is done, for timing by difference.
enum class Until { entropy, all };

template <Until kUntil>
__device__ __forceinline__ bool decode_unit(const UnitTask& task, const ImageTask* images,
                                            const std::byte* coded, std::uint8_t* planes,
                                            const SharedTables& tables, const DecodeTables* all,
                                            WarpMemory& w, WarpOverflow& overflow) {
  const Unit unit = unit_of(task, images);
  const auto* bytes = reinterpret_cast<const std::uint16_t*>(coded + task.offset);
  Lanes lanes;
  if (!lanes.begin(bytes, task.bytes, w.window)) return false;
  read_starts(w, lanes, unit, tables);
  read_masks(w, lanes, unit, tables);

  Values values;
  values.count = lay_out_values(w, unit);
  const bool fits = values.count <= kSharedValues;
  values.value = fits ? w.value : overflow.value;
  values.step = fits ? w.step : overflow.step;
  values.escape = w.escape;
  values.more_escapes = overflow.escape;
  write_rice(values.value, w, unit, all);
  read_values(values, lanes);
  if (!lanes.all_words_taken()) return false;

  RawBits raw;
  const int stored = static_cast<int>(bytes + task.bytes / 2 - lanes.words_end()) * 16;
  raw.begin(w.raw, lanes.state(), lanes.words_end(), stored);
  if (values.count + count_dc_bits(w, unit) > raw.size()) return false;
  put_signs(values, raw);
  read_dc(w, unit, raw, values.count);
  __syncwarp();

  const Classes classes = sort_blocks(w, unit);
  load_quantisers(w, *unit.image);
  if (kUntil == Until::entropy) {
    if (classes.dc == 1000) planes[0] = static_cast<std::uint8_t>(w.dc[3] + values.value[7]);
    return true;
  }
  const Target target(planes, unit);
  make_flat_blocks(w, unit, target, classes.dc);
  const int low = classes.dc + classes.low, end = low + classes.all;
  make_blocks<true>(w, unit, values, raw, target, classes.dc, low);
  make_blocks<false>(w, unit, values, raw, target, low, end);
  return true;
}

struct BlockMemory {
  SharedTables tables;
  WarpMemory warp[1];  // as many as there are
};

template <Until kUntil>
__global__ void __launch_bounds__(32 * kMaxWarps, 1)
    decode_units_kernel(BatchMemory memory, BatchLayout layout, const DecodeTables* all) {
  extern __shared__ __align__(16) unsigned char bytes[];
  auto& shared = *reinterpret_cast<BlockMemory*>(bytes);
  const auto* from = reinterpret_cast<const uint4*>(&all->shared);
  auto* to = reinterpret_cast<uint4*>(&shared.tables);
  for (unsigned i = threadIdx.x; i < sizeof(SharedTables) / 16; i += blockDim.x) to[i] = from[i];
  __syncthreads();

  const auto* tasks = reinterpret_cast<const UnitTask*>(memory.batch + layout.units_at);
  const auto* images = reinterpret_cast<const ImageTask*>(memory.batch + layout.images_at);
  const std::byte* coded = memory.batch + layout.coded_at;
  const unsigned warp = threadIdx.x / 32;
  WarpMemory& w = shared.warp[warp];
  auto& overflow =
      reinterpret_cast<WarpOverflow*>(memory.overflow)[blockIdx.x * (blockDim.x / 32) + warp];
  for (;;) {
    std::uint32_t number = 0;
    if (lane_id() == 0) number = atomicAdd(memory.next_unit, 1u);
    number = __shfl_sync(kAllLanes, number, 0);
    if (number >= layout.units) return;
    const UnitTask task = tasks[number];
    const bool fine =
        decode_unit<kUntil>(task, images, coded, memory.planes, shared.tables, all, w, overflow);
    if (!fine && lane_id() == 0) {
      atomicMin(&memory.errors[task.image], error_word(task.x, task.y));
    }
    __syncwarp();
  }
}

std::size_t shared_bytes(int warps) {
  return sizeof(SharedTables) + static_cast<std::size_t>(warps) * sizeof(WarpMemory);
}

template <Until kUntil>
void launch(const BatchMemory& memory, const BatchLayout& layout, const DecodeTables* tables,
            const DeviceShape& shape, cudaStream_t stream) {
  const auto bytes = static_cast<int>(shared_bytes(shape.unit_warps));
  const auto kernel = decode_units_kernel<kUntil>;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
        "shared memory of decode_units_kernel");
  kernel<<<shape.multiprocessors, 32 * shape.unit_warps, bytes, stream>>>(memory, layout, tables);
  check(cudaGetLastError(), "launch decode_units_kernel");
}

}  // namespace

DeviceShape device_shape(int device) {
  DeviceShape shape;
  int bytes = 0;
  check(cudaDeviceGetAttribute(&shape.multiprocessors, cudaDevAttrMultiProcessorCount, device),
        "number of multiprocessors");
  check(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
        "shared memory of a block");
  const auto room = static_cast<std::size_t>(bytes) - sizeof(SharedTables);
  const auto warps = static_cast<int>(room / sizeof(WarpMemory));
  shape.unit_warps = warps < kMaxWarps ? warps : kMaxWarps;
  return shape;
}

std::size_t overflow_bytes(const DeviceShape& shape) {
  return sizeof(WarpOverflow) * static_cast<std::size_t>(shape.multiprocessors) *
         static_cast<std::size_t>(shape.unit_warps);
}

void decode_units(const BatchMemory& memory, const BatchLayout& layout, const DecodeTables* tables,
                  const DeviceShape& shape, cudaStream_t stream) {
  check(cudaMemsetAsync(memory.errors, 0xff, sizeof(std::uint32_t) * layout.images, stream),
        "clear the errors");
  check(cudaMemsetAsync(memory.next_unit, 0, sizeof(std::uint32_t), stream), "clear the counter");
  if (layout.units == 0) return;
  launch<Until::all>(memory, layout, tables, shape, stream);
}

void decode_units_entropy_only(const BatchMemory& memory, const BatchLayout& layout,
                               const DecodeTables* tables, const DeviceShape& shape,
                               cudaStream_t stream) {
  check(cudaMemsetAsync(memory.next_unit, 0, sizeof(std::uint32_t), stream), "clear the counter");
  if (layout.units > 0) launch<Until::entropy>(memory, layout, tables, shape, stream);
}

}  // namespace tundish::cuda
