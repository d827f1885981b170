// The scalar passes, and the selection of passes by CPU.
#include "augment/cpu/passes.h"

namespace tundish {
namespace {

constexpr int kBits = 22;
constexpr std::int32_t kHalf = 1 << (kBits - 1);

std::uint8_t clip8(std::int32_t sum) {
  const std::int32_t level = sum >> kBits;
  return static_cast<std::uint8_t>(level < 0 ? 0 : level > 255 ? 255 : level);
}

// The scalar passes need no rearranged weights: their table is a copy of the TapsView.
std::size_t table_bytes(const TapsView&) { return sizeof(TapsView); }
void make_table(void* table, const TapsView& taps) { *static_cast<TapsView*>(table) = taps; }

void pass_x(std::uint8_t* slot, const std::uint8_t* const* row, const void* table) {
  const TapsView& taps = *static_cast<const TapsView*>(table);
  const std::int32_t* weight = taps.weight;
  for (int i = 0; i < taps.outputs; ++i, weight += taps.count, slot += 3) {
    const std::uint8_t* pixel = row[0] + std::ptrdiff_t{3} * taps.first[i];
    std::int32_t red = kHalf, green = kHalf, blue = kHalf;
    for (int k = 0; k < taps.used[i]; ++k, pixel += 3) {
      red += weight[k] * pixel[0];
      green += weight[k] * pixel[1];
      blue += weight[k] * pixel[2];
    }
    slot[0] = clip8(red);
    slot[1] = clip8(green);
    slot[2] = clip8(blue);
  }
}

// Works in blocks of samples to keep the sums in the first-level cache.
void pass_y(std::uint8_t* out, const SlotRing& ring, const void* table, int output, int samples) {
  const TapsView& taps = *static_cast<const TapsView*>(table);
  const std::int32_t* weight = taps.weight + std::ptrdiff_t{output} * taps.count;
  constexpr int kBlock = 64;
  for (int from = 0; from < samples; from += kBlock) {
    const int n = samples - from < kBlock ? samples - from : kBlock;
    std::int32_t sum[kBlock];
    for (int i = 0; i < n; ++i) sum[i] = kHalf;
    for (int k = 0; k < taps.used[output]; ++k) {
      const auto slot = static_cast<std::size_t>((taps.first[output] + k) & (ring.slots - 1));
      const std::uint8_t* line = ring.memory + slot * ring.slot_bytes + from;
      for (int i = 0; i < n; ++i) sum[i] += weight[k] * line[i];
    }
    for (int i = 0; i < n; ++i) out[from + i] = clip8(sum[i]);
  }
}

}  // namespace

const Passes kPassesScalar = {.rows = 1,
                              .bytes_per_sample = 1,
                              .row_slack = 0,
                              .table_x_bytes = table_bytes,
                              .make_table_x = make_table,
                              .table_y_bytes = table_bytes,
                              .make_table_y = make_table,
                              .pass_x = pass_x,
                              .pass_y = pass_y};

std::size_t slot_bytes(const Passes& passes, int pixels) {
  const std::size_t samples = (static_cast<std::size_t>(pixels) * 3 + 63) / 64 * 64;
  return samples * static_cast<std::size_t>(passes.bytes_per_sample) + 64;
}

const Passes& passes_of(Cpu cpu) {
  switch (cpu) {
    case Cpu::sse:
      return kPassesSse;
    case Cpu::avx2:
      return kPassesAvx2;
    case Cpu::avx512:
      return kPassesAvx512;
    case Cpu::scalar:
      break;
  }
  return kPassesScalar;
}

}  // namespace tundish
