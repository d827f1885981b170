#include "codec/decode/png_expand.h"

namespace tundish {
namespace {

// Returns number i with 1, 2, 4 or 8 bits; the first number is in the highest bits.
unsigned number_at(const std::uint8_t* row, std::size_t i, unsigned depth) {
  const std::size_t bit = i * depth;
  return row[bit / 8] >> (8 - depth - bit % 8) & ((1u << depth) - 1);
}

void unpack(std::uint8_t* to, const std::uint8_t* row, unsigned depth, std::size_t width) {
  for (std::size_t i = 0; i < width; ++i) {
    to[i] = static_cast<std::uint8_t>(number_at(row, i, depth));
  }
}

void expand_grays(std::uint8_t* to, const std::uint8_t* row, unsigned depth, std::size_t width) {
  const unsigned scale = 255 / ((1u << depth) - 1);
  for (std::size_t i = 0; i < width; ++i, to += 3) {
    to[0] = to[1] = to[2] = static_cast<std::uint8_t>(number_at(row, i, depth) * scale);
  }
}

// Samples of 1 or 2 bytes: kColors color samples (1: gray), then alpha if present.
template <std::size_t kBytes, std::size_t kColors, bool kHasAlpha, bool kKeepAlpha>
void expand_samples(std::uint8_t* to, const std::uint8_t* row, std::size_t width) {
  for (std::size_t i = 0; i < width; ++i) {
    for (std::size_t c = 0; c < 3; ++c) to[c] = row[kColors == 1 ? 0 : kBytes * c];
    if constexpr (kKeepAlpha) to[3] = row[kBytes * kColors];
    to += kKeepAlpha ? 4 : 3;
    row += kBytes * (kColors + kHasAlpha);
  }
}

template <std::size_t kBytes>
void expand(std::uint8_t* to, const std::uint8_t* row, const PngKind& kind, std::size_t width) {
  switch (kind.color) {
    case 0:
      return expand_samples<kBytes, 1, false, false>(to, row, width);
    case 2:
      return expand_samples<kBytes, 3, false, false>(to, row, width);
    case 4:
      return kind.keep_alpha ? expand_samples<kBytes, 1, true, true>(to, row, width)
                             : expand_samples<kBytes, 1, true, false>(to, row, width);
    default:
      return kind.keep_alpha ? expand_samples<kBytes, 3, true, true>(to, row, width)
                             : expand_samples<kBytes, 3, true, false>(to, row, width);
  }
}

}  // namespace

const std::uint8_t* expand_png_row(std::uint8_t* to, const std::uint8_t* row, const PngKind& kind,
                                   std::uint32_t width) {
  const auto depth = static_cast<unsigned>(kind.depth);
  if (kind.color == 3) {
    if (depth == 8) return row;
    unpack(to, row, depth, width);
  } else if (kind.color == 0 && depth == 16) {
    return row;
  } else if (kind.color == 0 && depth < 8) {
    expand_grays(to, row, depth, width);
  } else if (depth == 16) {
    expand<2>(to, row, kind, width);
  } else if (kind.color == 2 || (kind.color == 6 && kind.keep_alpha)) {
    return row;
  } else {
    expand<1>(to, row, kind, width);
  }
  return to;
}

}  // namespace tundish
