// The two passes of a resize, once per instruction set. All give the same bytes.
//
// The horizontal pass takes a few rows together and leaves them in a slot, in a layout of its
// own that suits the vertical pass; slots form a ring. Sums are exact in 32 bits modulo 2^32:
// a weight is at most 2^22, a finished sum stays below 2^31.
//
// Plain pointers and structs only: the sources are compiled with different instruction sets, and
// an inline function of a library, compiled in one of them, could end up in all.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/machine/cpu.h"

namespace tundish {

// What augment/cpu/taps.h holds, without its containers.
struct TapsView {
  int outputs;
  int count;                   // weights per output
  const int* first;            // first input of an output
  const int* used;             // inputs of an output
  const std::int32_t* weight;  // 22 fractional bits
};

// Slots of the vertical pass: row r of the input is in slot (r / rows) modulo `slots`.
struct SlotRing {
  const std::uint8_t* memory;
  std::size_t slot_bytes;
  int slots;  // a power of two
};

constexpr int kMaxRows = 4;
constexpr int kWrittenBehind = 63;  // bytes that the vertical pass may write after a row

struct Passes {
  int rows;               // rows in a slot, at most kMaxRows
  int bytes_per_sample;   // of a slot
  std::size_t row_slack;  // bytes after the last input of an output that may be read, not used

  // Weights in the order in which the pass wants them; 64-byte aligned memory.
  std::size_t (*table_x_bytes)(const TapsView& taps);
  void (*make_table_x)(void* table, const TapsView& taps);
  std::size_t (*table_y_bytes)(const TapsView& taps);
  void (*make_table_y)(void* table, const TapsView& taps);

  // row[0] .. row[rows - 1], interleaved RGB, into a slot of slot_bytes().
  void (*pass_x)(std::uint8_t* slot, const std::uint8_t* const* row, const void* table);

  // Output row number `output` of `samples` bytes; writes up to kWrittenBehind bytes more.
  void (*pass_y)(std::uint8_t* out, const SlotRing& ring, const void* table, int output,
                 int samples);
};

// Room for the samples of `pixels` outputs, and for what the passes write beyond them.
std::size_t slot_bytes(const Passes& passes, int pixels);

extern const Passes kPassesScalar;
extern const Passes kPassesSse;
extern const Passes kPassesAvx2;
extern const Passes kPassesAvx512;

const Passes& passes_of(Cpu cpu);

}  // namespace tundish
