// sort_blocks() for eight pairs at a time: two rows of up to eight blocks, or one row of up to 16.
#include <immintrin.h>

#include "codec/lanes/block_finder_avx512.h"
#include "codec/lanes/block_lists.h"

namespace tundish::lanes::avx512 {
namespace {

using Vector = __m512i;

struct Ends {
  BlockPair *flat, *low, *full, *general;
};

void append(BlockPair*& end, std::uint32_t which, Vector records) {
  _mm512_storeu_si512(end, _mm512_maskz_compress_epi64(static_cast<__mmask8>(which), records));
  end += __builtin_popcount(which);
}

// The left and right blocks of a row's pairs, counted from the block with the lowest number. In an
// odd row, the lowest number is the rightmost block.
struct Order {
  __m256i left, right;  // 8 numbers of 32 bits
};

Order order_of(int y, int blocks) {
  const __m256i twice = _mm256_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14);
  const __m256i last = _mm256_set1_epi32(blocks - 1);
  const __m256i next = _mm256_min_epi32(_mm256_add_epi32(twice, _mm256_set1_epi32(1)), last);
  if (y % 2 == 0) return {twice, next};
  return {_mm256_sub_epi32(last, twice), _mm256_sub_epi32(last, next)};
}

// Eight pairs, by their positions in two registers of masks.
struct Group {
  Vector left, right;  // positions
  Vector record;       // added to the block numbers and the offset
};

// Packs BlockPairs into 64 bits each.
Vector records_of(__m256i left, __m256i right, __m256i offset, int component) {
  const __m256i low = _mm256_or_si256(_mm256_or_si256(left, _mm256_slli_epi32(right, 8)),
                                      _mm256_set1_epi32(component << 16));
  return _mm512_or_si512(_mm512_cvtepu32_epi64(low),
                         _mm512_slli_epi64(_mm512_cvtepu32_epi64(offset), 32));
}

Group one_row(int y, int blocks, int component) {
  const Order order = order_of(y, blocks);
  const __m256i offset = _mm256_setr_epi32(0, 16, 32, 48, 64, 80, 96, 112);
  return {_mm512_cvtepu32_epi64(order.left), _mm512_cvtepu32_epi64(order.right),
          records_of(order.left, order.right, offset, component)};
}

Group two_rows(int y, int blocks, int component, std::ptrdiff_t row_bytes) {
  const Order above = order_of(y, blocks), below = order_of(y + 1, blocks);
  const auto join = [](__m256i a, __m256i b) { return _mm256_permute2x128_si256(a, b, 0x20); };
  const __m256i left = join(above.left, below.left), right = join(above.right, below.right);
  const __m256i second = _mm256_setr_epi32(0, 0, 0, 0, 8, 8, 8, 8);
  const auto bytes = static_cast<int>(row_bytes);
  const __m256i offset =
      _mm256_setr_epi32(0, 16, 32, 48, bytes, bytes + 16, bytes + 32, bytes + 48);
  return {_mm512_cvtepu32_epi64(_mm256_add_epi32(left, second)),
          _mm512_cvtepu32_epi64(_mm256_add_epi32(right, second)),
          records_of(left, right, offset, component)};
}

void sort_component(Ends& ends, const std::uint64_t* marked, const ComponentTask& part, int c) {
  const int blocks = part.x1 - part.x0;
  if (blocks <= 0 || part.y1 <= part.y0) return;
  const bool paired = blocks <= 8;
  const int rows = paired ? 2 : 1;
  const std::ptrdiff_t row_bytes = kBlock * part.stride;
  Group group[2];
  if (paired) {
    group[0] = group[1] = two_rows(part.y0, blocks, c, row_bytes);
  } else {
    group[0] = one_row(part.y0, blocks, c);
    group[1] = one_row(part.y0 + 1, blocks, c);
  }
  const std::uint32_t pairs = (1u << (blocks + 1) / 2) - 1;
  const Vector above_dc = _mm512_set1_epi64(-2);
  const Vector above_low = _mm512_set1_epi64(static_cast<long long>(~(kLowMask | 1)));
  const auto lowest = [&](int y) {
    return part.first + y * part.across + (y % 2 == 0 ? part.x0 : part.across - part.x1);
  };
  for (int y = part.y0; y < part.y1; y += rows) {
    const Group& g = group[(y - part.y0) % 2];
    const bool two = paired && y + 1 < part.y1;
    const int first = lowest(y);
    const int second = two ? lowest(y + 1) : first;
    const std::uint32_t valid = two ? pairs | pairs << 4 : pairs;
    const Vector a = _mm512_loadu_si512(marked + first);
    const Vector b = _mm512_loadu_si512(marked + (paired ? second : first + 8));
    const Vector either = _mm512_or_si512(_mm512_permutex2var_epi64(a, g.left, b),
                                          _mm512_permutex2var_epi64(a, g.right, b));
    const long long offset = static_cast<long long>((y - part.y0) * row_bytes) << 32;
    const Vector base = _mm512_mask_set1_epi64(_mm512_set1_epi64(first * 0x101 + offset), 0xf0,
                                               (paired ? second : first) * 0x101 + offset);
    const Vector records = _mm512_add_epi64(g.record, base);
    const std::uint32_t any = _mm512_test_epi64_mask(either, above_dc);
    const std::uint32_t high = _mm512_test_epi64_mask(either, above_low);
    std::uint32_t general = _mm512_test_epi64_mask(either, _mm512_set1_epi64(1));
    if (part.quantization->wide) general |= any;
    append(ends.flat, valid & ~any & ~general, records);
    append(ends.low, valid & any & ~high & ~general, records);
    append(ends.full, valid & high & ~general, records);
    append(ends.general, valid & general, records);
  }
}

}  // namespace

void sort_blocks(BlockLists& out, const UnitTask& task) {
  mark_escapes<BlockFinder>(out, *task.unit);
  Ends ends = {out.flat.pair, out.low.pair, out.full.pair, out.general.pair};
  for (int c = 0; c < task.components; ++c) sort_component(ends, out.marked, task.component[c], c);
  out.flat.count = static_cast<int>(ends.flat - out.flat.pair);
  out.low.count = static_cast<int>(ends.low - out.low.pair);
  out.full.count = static_cast<int>(ends.full - out.full.pair);
  out.general.count = static_cast<int>(ends.general - out.general.pair);
}

}  // namespace tundish::lanes::avx512
