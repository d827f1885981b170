// A warp and the unit it decodes: the shared memory of a warp, and the steps of decoding. The
// specification is docs/internals/lanes.md; codec/lanes/decode_unit_reference.cpp is the reference.
//
// Every loop is bounded by the geometry and every read by the unit's bytes (and the slack after
// the coded part). Arbitrary bytes therefore produce samples or a refusal.
#pragma once

#include <cstdint>

#include "codec/lanes/geometry.h"
#include "codec/lanes/sample_arithmetic.h"
#include "cuda/decode/batch_layout.h"
#include "cuda/decode/decode_tables.h"
#include "cuda/decode/pixel_fours.h"

namespace tundish::cuda {

constexpr unsigned kAllLanes = 0xffffffffu;
constexpr int kMaxBlocks = lanes::kMaxBlocks;
constexpr int kMaxValues = kMaxBlocks * 63;
constexpr int kMaxSteps = kMaxValues / 32 + 1;

constexpr int kValueSlack = 64;  // readable bytes after the values
constexpr int kRiceRing = 512;   // entries; four blocks have at most 252 values

// The escapes among 32 values, as a bit mask, and the number of escapes before these values.
struct EscapeStep {
  std::uint32_t which;
  std::uint32_t before;
};

// Lies in global memory: a unit has thousands of values. The cache serves better than shared memory
// sized for the largest unit.
struct WarpSpace {
  std::uint8_t value[kMaxValues + kValueSlack];
  EscapeStep step[kMaxSteps];
  std::uint16_t escape[kMaxValues];
};

// Lies in shared memory. Union members are used in the order in which they are listed.
struct alignas(16) WarpMemory {
  std::uint64_t mask[kMaxBlocks];
  union {
    struct {
      std::uint16_t window[128];     // words that the lanes will consume
      std::uint8_t rice[kRiceRing];  // Rice parameters of the next values
    };
    std::uint16_t class_of[kMaxBlocks];  // class and position of each block
    std::int16_t between[4][72];         // four blocks between the two inverse DCT passes
  };
  union {
    struct {
      std::uint8_t dc_size[kMaxBlocks];
      std::uint8_t octets[kMaxBlocks];
    };
    std::uint16_t quantizer[3][64];  // column by column
  };
  std::uint32_t raw[32];  // raw bits left in the states
  std::uint16_t start[kMaxBlocks + 8];
  std::int16_t dc[kMaxBlocks];
  std::uint16_t list[kMaxBlocks];  // blocks to make, packed by list_entry()
};

// The blocks of one component of the unit.
struct UnitBlocks {
  int x0, y0, across, down;
  __device__ __forceinline__ int count() const { return across * down; }
};

__device__ __forceinline__ UnitBlocks blocks_of(const PlaneTask& plane, int unit_x, int unit_y) {
  UnitBlocks out;
  out.x0 = unit_x * plane.unit_across;
  out.y0 = unit_y * plane.unit_down;
  out.across = min(static_cast<int>(plane.unit_across), plane.blocks_x - out.x0);
  out.down = min(static_cast<int>(plane.unit_down), plane.blocks_y - out.y0);
  return out;
}

__device__ __forceinline__ int lane_id() { return threadIdx.x & 31; }
__device__ __forceinline__ unsigned lanes_below() { return (1u << lane_id()) - 1; }

// Returns the sum over all lanes up to and including this one.
__device__ __forceinline__ int sum_up_to_lane(int value) {
#pragma unroll
  for (int k = 1; k < 32; k <<= 1) {
    const int below = __shfl_up_sync(kAllLanes, value, k);
    if (lane_id() >= k) value += below;
  }
  return value;
}

// The 32 states and the words that the lanes consume in turn. A window of 128 words is in shared
// memory, and 64 more are being loaded into registers.
class Lanes {
 public:
  // `unit` has `bytes` bytes. Returns false in all lanes if the bytes cannot be a unit.
  __device__ __forceinline__ bool begin(const std::uint16_t* unit, int bytes,
                                        std::uint16_t* window) {
    if (bytes < 2 + 2 * 32) return false;
    const int count = unit[0];
    const bool narrow = count == 1 << 15;
    const int lane = lane_id();
    if (narrow) {
      state_ = unit[1 + lane];
      words_ = unit + 33;
      expected_ = 0;
      low_ = 0;
    } else {
      if (count > 1 << 15 || 2 + 4 * 32 + 2 * count > bytes) return false;
      state_ = unit[1 + 2 * lane] | static_cast<std::uint32_t>(unit[2 + 2 * lane]) << 16;
      words_ = unit + 65;
      expected_ = count;
      low_ = 1u << 15;
    }
    const bool fine = narrow || (state_ >= 1u << 15 && state_ >> 31 == 0);
    if (!__all_sync(kAllLanes, fine)) return false;
    window_ = window;
    taken_ = 0;
    next_ = lane;
    last_ = expected_;  // words after the last are read, but never used in a valid unit
#pragma unroll
    for (int i = 0; i < 4; ++i) window[32 * i + lane] = fetch(32 * i);
    next_ += 128;
    ahead_[0] = fetch(0);
    ahead_[1] = fetch(32);
    __syncwarp();
    return true;
  }

  // Returns the low `count` bits of the state; the lane then takes a word if it needs one.
  __device__ __forceinline__ unsigned bits(bool active, int count) {
    const unsigned out = state_ & ((1u << count) - 1);
    if (active) state_ >>= count;
    refill(active);
    return out;
  }

  __device__ __forceinline__ unsigned symbol(bool active, TableName name,
                                             const SharedTables& tables) {
    const unsigned slot = state_ & 1023;
    const unsigned table = name >> 10;
    unsigned symbol = tables.slot[table][slot];
    const bool escaped = slot >= (name & 1023u);
    const std::uint32_t entry = tables.symbol[table][escaped ? 256 : symbol];
    if (active) state_ = (entry >> 10) * (state_ >> 10) + (slot - (entry & 1023));
    refill(active);
    const bool more = active && escaped;
    if (__any_sync(kAllLanes, more)) {
      const unsigned raw = bits(more, 8);
      if (more) symbol = raw;
    }
    return symbol;
  }

  // Decodes zeros up to a one (at most 15), then `rice` bits; returns the low 8 bits of the code.
  __device__ __forceinline__ unsigned value(bool active, unsigned rice) {
    const int zeros = __ffs(static_cast<int>(state_ | 1u << 15)) - 1;
    const std::uint32_t rest = state_ >> 1 >> zeros;
    const unsigned code = static_cast<unsigned>(zeros) << rice | (rest & ((1u << rice) - 1));
    if (active) state_ = rest >> rice;
    refill(active);
    return code & 255;
  }

  __device__ __forceinline__ bool all_words_taken() const { return taken_ == expected_; }
  __device__ __forceinline__ std::uint32_t state() const { return state_; }
  __device__ __forceinline__ const std::uint16_t* words_end() const { return words_ + expected_; }

 private:
  __device__ __forceinline__ std::uint16_t fetch(int ahead) const {
    return words_[min(next_ + ahead, last_)];
  }

  __device__ __forceinline__ void refill(bool active) {
    const bool needs = active && state_ < low_;
    const unsigned all = __ballot_sync(kAllLanes, needs);
    if (needs) {
      state_ = state_ << 16 | window_[(taken_ + __popc(all & lanes_below())) & 127];
    }
    const int taken = taken_ + __popc(all);
    if ((taken_ ^ taken) & 64) {  // half of the window is used up
      __syncwarp();
      std::uint16_t* half = window_ + (taken_ & 64) + lane_id();
      half[0] = ahead_[0];
      half[32] = ahead_[1];
      next_ += 64;
      ahead_[0] = fetch(0);
      ahead_[1] = fetch(32);
      __syncwarp();
    }
    taken_ = taken;
  }

  std::uint32_t state_;
  std::uint32_t low_;  // a lane whose state is below takes a word
  const std::uint16_t* words_;
  std::uint16_t* window_;
  int taken_, expected_, next_, last_;
  std::uint16_t ahead_[2];
};

// The bits left in the states, lane by lane below the highest set bit, then the unit's last bytes.
class RawBits {
 public:
  // `stored` is the number of bits at the end of the unit, which begin at `tail`.
  __device__ __forceinline__ void begin(std::uint32_t* raw, std::uint32_t state,
                                        const std::uint16_t* tail, int stored) {
    raw_ = raw;
    tail_ = tail;
    const int lane = lane_id();
    const int count = 31 - __clz(static_cast<int>(state | 1));
    const int end = sum_up_to_lane(count);
    in_states_ = __shfl_sync(kAllLanes, end, 31);
    size_ = in_states_ + stored;
    raw[lane] = 0;
    __syncwarp();
    const std::uint32_t bits = state & ((1u << count) - 1);
    const int at = end - count;
    if (count > 0) {
      atomicOr(&raw[at >> 5], bits << (at & 31));
      if ((at & 31) + count > 32) atomicOr(&raw[(at >> 5) + 1], bits >> (32 - (at & 31)));
    }
    __syncwarp();
  }

  __device__ __forceinline__ int size() const { return size_; }

  // Returns 32 bits from `at` < size() on; bits after the last one are undefined.
  __device__ __forceinline__ std::uint32_t from(int at) const {
    if (at >= in_states_) return from_tail(at - in_states_);
    const int word = at >> 5;  // in_states_ is at most 30 * 32
    const std::uint32_t bits = __funnelshift_r(raw_[word], raw_[word + 1], at & 31);
    const int have = in_states_ - at;
    if (have >= 32) return bits;
    return (bits & ((1u << have) - 1)) | from_tail(0) << have;
  }

 private:
  __device__ __forceinline__ std::uint32_t from_tail(int at) const {
    const std::uint16_t* word = tail_ + (at >> 4);
    const std::uint32_t low = word[0] | static_cast<std::uint32_t>(word[1]) << 16;
    return __funnelshift_r(low, word[2], at & 15);
  }

  std::uint32_t* raw_;
  const std::uint16_t* tail_;
  int in_states_, size_;
};

}  // namespace tundish::cuda
