// The two passes of a resize, once per instruction set. The bytes are the same for all of them.
//
// The horizontal pass processes a few rows together and writes them to a slot. The slot layout
// suits the vertical pass of the same instruction set. Slots form a ring. Sums have 32 bits. An
// intermediate overflow does no harm, because a finished sum is below 2^31 (a weight is at most
// 2^22).
//
// Uses plain pointers and structs only. The sources are compiled for different instruction sets; a
// linker could keep an inline library function that was compiled for the wrong set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/machine/cpu.h"

namespace tundish {

// The contents of Taps (augment/cpu/taps.h) without containers.
struct TapsView {
  int outputs;
  int count;                   // weights per output
  const int* first;            // first input of each output
  const int* used;             // number of inputs of each output
  const std::int32_t* weight;  // 22 fractional bits
};

// Slots read by the vertical pass: input row r is in slot (r / rows) modulo `slots`.
struct SlotRing {
  const std::uint8_t* memory;
  std::size_t slot_bytes;
  int slots;  // a power of two
};

constexpr int kMaxRows = 4;
constexpr int kWrittenBehind = 63;  // bytes that the vertical pass may write past a row

struct Passes {
  int rows;               // rows in a slot, at most kMaxRows
  int bytes_per_sample;   // bytes per sample in a slot
  std::size_t row_slack;  // bytes past an output's last input that may be read (unused)

  // Builds the weights in the order that the pass reads them, in 64-byte aligned memory.
  std::size_t (*table_x_bytes)(const TapsView& taps);
  void (*make_table_x)(void* table, const TapsView& taps);
  std::size_t (*table_y_bytes)(const TapsView& taps);
  void (*make_table_y)(void* table, const TapsView& taps);

  // Writes row[0] .. row[rows - 1] (interleaved RGB) to a slot of slot_bytes() bytes.
  void (*pass_x)(std::uint8_t* slot, const std::uint8_t* const* row, const void* table);

  // Computes `samples` bytes of row `output`; may write up to kWrittenBehind bytes past the row.
  void (*pass_y)(std::uint8_t* out, const SlotRing& ring, const void* table, int output,
                 int samples);
};

// Bytes of a slot for `pixels` outputs, including what the passes write past the outputs.
std::size_t slot_bytes(const Passes& passes, int pixels);

extern const Passes kPassesScalar;
extern const Passes kPassesSse;
extern const Passes kPassesAvx2;
extern const Passes kPassesAvx512;

const Passes& passes_of(Cpu cpu);

}  // namespace tundish
