// The horizontal pass with AVX-512: four input rows into a slot.
#include "augment/cpu/passes_avx512.h"

namespace tundish::passes_avx512 {
namespace {

constexpr int kSpare = 8;  // pixels past the last one that may be read

int chunks_of(const TapsView& taps) { return (taps.count + kTaps - 1) / kTaps; }

// Packs the sums of four rows into bytes: dword i of the result holds sample i of each row.
__m512i four_rows(__m512i a, __m512i b, __m512i c, __m512i d) {
  const __m512i ab = _mm512_packs_epi32(_mm512_srai_epi32(a, kBits), _mm512_srai_epi32(b, kBits));
  const __m512i cd = _mm512_packs_epi32(_mm512_srai_epi32(c, kBits), _mm512_srai_epi32(d, kBits));
  const __m128i by_sample = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  return _mm512_shuffle_epi8(_mm512_packus_epi16(ab, cd), _mm512_broadcast_i32x4(by_sample));
}

// Three variants. The first two gather 16 samples with one byte permutation. They need the first
// four inputs of all 16 samples within 64 bytes (scales up to about 3) or 128 bytes (up to 7).
// The third variant computes four pixels at once, with one load per pixel, for any scale.
enum class Reach { bytes64, bytes128, any };

struct TableX {
  int outputs;
  int groups;
  int chunks;
  Reach reach;
  const int* place;           // byte offset of each group, or of each pixel with Reach::any
  const std::uint8_t* block;  // per group 64 indices, then per chunk three digits; with
                              // Reach::any the digits of four pixels per chunk
};

Reach reach_of(const TapsView& taps) {
  int most = 0;  // bytes from the first to the last of six pixels, the most that 16 samples span
  for (int i = 0; i < taps.outputs; ++i) {
    const int last = i + 5 < taps.outputs ? i + 5 : taps.outputs - 1;
    const int span = 3 * (taps.first[last] - taps.first[i]);
    most = span > most ? span : -span > most ? -span : most;
  }
  most += 3 * kTaps;
  return most <= 64 ? Reach::bytes64 : most <= 128 ? Reach::bytes128 : Reach::any;
}

int groups_of(const TapsView& taps, Reach reach) {
  return reach == Reach::any ? (taps.outputs + 3) / 4 : (3 * taps.outputs + 15) / 16;
}

// Pixel (relative to pixel 16 g / 3) and channel of each of the samples 16 g .. 16 g + 15.
struct Pattern {
  __m512i pixel, channel;
};

Pattern pattern_of(int group) {
  alignas(64) int pixel[16], channel[16];
  const int first = 16 * group / 3;
  for (int i = 0; i < 16; ++i) {
    pixel[i] = (16 * group + i) / 3 - first;
    channel[i] = (16 * group + i) % 3;
  }
  return {_mm512_load_si512(pixel), _mm512_load_si512(channel)};
}

void make_groups(TableX& table, std::uint8_t* memory, int* start, const TapsView& taps) {
  int* place = reinterpret_cast<int*>(memory);
  memory += align64(4 * static_cast<std::size_t>(table.groups));
  table.place = place;
  table.block = memory;
  const auto block_bytes = static_cast<std::size_t>(64 * (1 + 3 * table.chunks));

  // The digits of every pixel, chunk by chunk, follow the blocks.
  std::uint8_t* pixels = memory + static_cast<std::size_t>(table.groups) * block_bytes;
  const auto chunk_bytes = 16 * static_cast<std::size_t>(taps.outputs + kSpare);
  for (int t = 0; t < table.chunks; ++t) {
    std::uint8_t* to = pixels + static_cast<std::size_t>(t) * chunk_bytes;
    for (int i = 0; i + 4 <= taps.outputs + kSpare; i += 4, to += 64) {
      _mm512_storeu_si512(to, digits(four_pixels(taps, i, t)));
    }
  }

  Pattern patterns[3];
  for (int g = 0; g < 3; ++g) patterns[g] = pattern_of(g);
  for (int g = 0; g < table.groups; ++g) {
    const auto [pixel, channel] = patterns[g % 3];
    const int first = 16 * g / 3;
    const int base = start[first] < start[first + 5] ? start[first] : start[first + 5];
    place[g] = base;
    std::uint8_t* block = memory + static_cast<std::size_t>(g) * block_bytes;
    const __m512i starts = _mm512_permutexvar_epi32(
        pixel, _mm512_castsi256_si512(
                   _mm256_loadu_si256(reinterpret_cast<const __m256i*>(start + first))));
    const __m512i offset =
        _mm512_sub_epi32(_mm512_add_epi32(starts, channel), _mm512_set1_epi32(base));
    _mm512_store_si512(block,
                       _mm512_add_epi32(_mm512_mullo_epi32(offset, _mm512_set1_epi32(0x01010101)),
                                        _mm512_set1_epi32(0x09060300)));
    for (int t = 0; t < table.chunks; ++t) {
      const std::uint8_t* from =
          pixels + static_cast<std::size_t>(t) * chunk_bytes + 16 * static_cast<std::size_t>(first);
      const __m512i low = _mm512_loadu_si512(from);
      const __m512i high = _mm512_loadu_si512(from + 64);
      for (int d = 0; d < 3; ++d) {
        const __m512i index = _mm512_add_epi32(_mm512_slli_epi32(pixel, 2), _mm512_set1_epi32(d));
        _mm512_store_si512(block + 64 * (1 + 3 * t + d),
                           _mm512_permutex2var_epi32(low, index, high));
      }
    }
  }
}

void make_pixels(TableX& table, std::uint8_t* memory, const int* start, const TapsView& taps) {
  table.place = start;
  table.block = memory;
  for (int g = 0; g < table.groups; ++g) {
    for (int t = 0; t < table.chunks; ++t, memory += 64) {
      _mm512_store_si512(memory, digits(four_pixels(taps, 4 * g, t)));
    }
  }
}

// Gathers the samples of one group and one chunk from the 64 or 128 bytes at `from`.
template <Reach kReach>
__m512i gathered(const std::uint8_t* from, __m512i index) {
  const __m512i near = _mm512_loadu_si512(from);
  return kReach == Reach::bytes64
             ? _mm512_permutexvar_epi8(index, near)
             : _mm512_permutex2var_epi8(near, index, _mm512_loadu_si512(from + 64));
}

// A constant number of chunks keeps all dot products of a sum in one chain.
template <Reach kReach, int kChunks>
void pass_x_groups(std::uint8_t* slot, const std::uint8_t* const* row, const TableX& table) {
  const std::uint8_t* block = table.block;
  // Copies the fields before the loop because stores could alias the table.
  const int groups = table.groups;
  const int* place = table.place;
  const std::uint8_t* from[kRows] = {row[0], row[1], row[2], row[3]};
  for (int g = 0; g < groups; ++g, slot += 64, block += 64 * (1 + 3 * kChunks)) {
    const __m512i index = _mm512_load_si512(block);
    const auto digit = [&](int t, int d) {
      return _mm512_load_si512(block + 64 * (1 + 3 * t + d));
    };
    __m512i sum[kRows];
    for (int r = 0; r < kRows; ++r) {
      __m512i levels[kChunks];
      for (int t = 0; t < kChunks; ++t) {
        levels[t] = gathered<kReach>(from[r] + place[g] + 12 * t, index);
      }
      sum[r] = _mm512_set1_epi32(kRounding);
      for (int d = 0; d < 3; ++d) {
        if (d > 0) sum[r] = _mm512_slli_epi32(sum[r], 8);
        for (int t = 0; t < kChunks; ++t) {
          sum[r] = _mm512_dpbusd_epi32(sum[r], levels[t], digit(t, d));
        }
      }
    }
    _mm512_storeu_si512(slot, four_rows(sum[0], sum[1], sum[2], sum[3]));
  }
}

template <Reach kReach>
void pass_x_many_chunks(std::uint8_t* slot, const std::uint8_t* const* row, const TableX& table) {
  const std::uint8_t* block = table.block;
  for (int g = 0; g < table.groups; ++g, slot += 64) {
    const __m512i index = _mm512_load_si512(block);
    block += 64;
    Sums sums;
    for (int t = 0; t < table.chunks; ++t, block += 192) {
      const __m512i d0 = _mm512_load_si512(block);
      const __m512i d1 = _mm512_load_si512(block + 64);
      const __m512i d2 = _mm512_load_si512(block + 128);
      for (int r = 0; r < kRows; ++r) {
        sums.add(r, gathered<kReach>(row[r] + table.place[g] + 12 * t, index), d0, d1, d2);
      }
    }
    _mm512_storeu_si512(slot, four_rows(sums.sum(0), sums.sum(1), sums.sum(2), sums.sum(3)));
  }
}

void pass_x_pixels(std::uint8_t* slot, const std::uint8_t* const* row, const TableX& table) {
  // Turns four pixels of 12 bytes (red 0, green 0, blue 0, red 1, ...) into dwords of four taps.
  const __m512i by_channel = _mm512_broadcast_i32x4(
      _mm_setr_epi8(0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11, -128, -128, -128, -128));
  const std::uint8_t* block = table.block;
  for (int g = 0; g < table.groups; ++g, slot += 48) {
    const int* place = table.place + 4 * g;
    Sums sums;
    for (int t = 0; t < table.chunks; ++t, block += 64) {
      const __m512i digit = _mm512_load_si512(block);
      const __m512i d0 = _mm512_shuffle_epi32(digit, _MM_PERM_AAAA);
      const __m512i d1 = _mm512_shuffle_epi32(digit, _MM_PERM_BBBB);
      const __m512i d2 = _mm512_shuffle_epi32(digit, _MM_PERM_CCCC);
      for (int r = 0; r < kRows; ++r) {
        const auto load = [from = row[r] + 12 * t](int at) {
          return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at));
        };
        const __m256i left =
            _mm256_inserti128_si256(_mm256_castsi128_si256(load(place[0])), load(place[1]), 1);
        const __m256i right =
            _mm256_inserti128_si256(_mm256_castsi128_si256(load(place[2])), load(place[3]), 1);
        const __m512i pixels = _mm512_inserti64x4(_mm512_castsi256_si512(left), right, 1);
        sums.add(r, _mm512_shuffle_epi8(pixels, by_channel), d0, d1, d2);
      }
    }
    // Only twelve of the sixteen dwords are samples.
    const __m512i rows = four_rows(sums.sum(0), sums.sum(1), sums.sum(2), sums.sum(3));
    _mm512_storeu_si512(slot, _mm512_maskz_compress_epi32(0x7777, rows));
  }
}

}  // namespace

std::size_t table_x_bytes(const TapsView& taps) {
  const Reach reach = reach_of(taps);
  const auto groups = static_cast<std::size_t>(groups_of(taps, reach));
  const auto chunks = static_cast<std::size_t>(chunks_of(taps));
  const auto pixels = static_cast<std::size_t>(taps.outputs + kSpare);
  const std::size_t places = align64(4 * pixels) + align64(4 * groups);
  if (reach == Reach::any) return 64 + places + groups * 64 * chunks;
  return 64 + places + groups * 64 * (1 + 3 * chunks) + align64(16 * pixels * chunks);
}

void make_table_x(void* memory, const TapsView& taps) {
  TableX& table = *static_cast<TableX*>(memory);
  table.outputs = taps.outputs;
  table.reach = reach_of(taps);
  table.groups = groups_of(taps, table.reach);
  table.chunks = chunks_of(taps);
  // Start of each pixel's inputs; the spare entries repeat the last one.
  std::uint8_t* next = static_cast<std::uint8_t*>(memory) + 64;
  int* start = reinterpret_cast<int*>(next);
  next += align64(4 * static_cast<std::size_t>(taps.outputs + kSpare));
  for (int i = 0; i < taps.outputs + kSpare; ++i) {
    start[i] = 3 * taps.first[i < taps.outputs ? i : taps.outputs - 1];
  }
  if (table.reach == Reach::any) {
    make_pixels(table, next, start, taps);
  } else {
    make_groups(table, next, start, taps);
  }
}

void pass_x(std::uint8_t* slot, const std::uint8_t* const* row, const void* memory) {
  const TableX& table = *static_cast<const TableX*>(memory);
  if (table.reach == Reach::any) return pass_x_pixels(slot, row, table);
  if (table.reach == Reach::bytes128) {
    return table.chunks == 2 ? pass_x_groups<Reach::bytes128, 2>(slot, row, table)
                             : pass_x_many_chunks<Reach::bytes128>(slot, row, table);
  }
  switch (table.chunks) {
    case 1:
      return pass_x_groups<Reach::bytes64, 1>(slot, row, table);
    case 2:
      return pass_x_groups<Reach::bytes64, 2>(slot, row, table);
    default:
      return pass_x_many_chunks<Reach::bytes64>(slot, row, table);
  }
}

}  // namespace tundish::passes_avx512
