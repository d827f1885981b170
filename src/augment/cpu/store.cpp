#include "augment/cpu/store.h"

#include <algorithm>
#include <cstring>

#include "augment/cpu/row_split.h"
#include "augment/erase_row.h"

namespace tundish {
namespace {

template <class T>
void put(std::byte* to, std::uint32_t value) {
  const T element = static_cast<T>(value);
  std::memcpy(to, &element, sizeof element);
}

// Looks values up one at a time: a table of 256 values stays in the first-level cache, and gather
// instructions were not faster.
template <class T>
void look_up(std::byte* to, std::ptrdiff_t step, const std::uint8_t* level, int level_step,
             int count, const std::uint32_t* value) {
  for (int i = 0; i < count; ++i, to += step, level += level_step) put<T>(to, value[*level]);
}

template <class T>
void look_up_pixels(std::byte* to, const std::uint8_t* rgb, int width, const PixelTable& table) {
  constexpr std::size_t kBytes = sizeof(T);
  const std::uint32_t* red = table.value[0].data();
  const std::uint32_t* green = table.value[1].data();
  const std::uint32_t* blue = table.value[2].data();
  for (int x = 0; x < width; ++x, rgb += 3, to += 3 * kBytes) {
    put<T>(to, red[rgb[0]]);
    put<T>(to + kBytes, green[rgb[1]]);
    put<T>(to + 2 * kBytes, blue[rgb[2]]);
  }
}

template <class T>
void store_row(std::byte* to, std::ptrdiff_t dx, std::ptrdiff_t dc, const std::uint8_t* rgb,
               int width, const PixelTable& table) {
  constexpr std::ptrdiff_t kBytes = sizeof(T);
  if (dx == 3 * kBytes && dc == kBytes) return look_up_pixels<T>(to, rgb, width, table);
  for (int c = 0; c < 3; ++c) {
    const std::uint32_t* value = table.value[static_cast<std::size_t>(c)].data();
    if (dx == kBytes) {  // a constant step compiles to faster code
      look_up<T>(to + c * dc, kBytes, rgb + c, 3, width, value);
    } else {
      look_up<T>(to + c * dc, dx, rgb + c, 3, width, value);
    }
  }
}

}  // namespace

// Computes values by formula, and looks up the rest of the row. `which`: see TableFormula.
void Store::store_levels(std::byte* to, const std::uint8_t* levels, int count, int which) const {
  const auto bytes = static_cast<std::ptrdiff_t>(dtype_bytes(table_->dtype));
  const auto fast = cpu_ == Cpu::avx512 ? store_formula_avx512 : store_formula_avx2;
  int i = fast(to, table_->dtype, levels, count, *table_->formula, which);
  for (; i < count; ++i) {
    const auto channel = static_cast<std::size_t>(which == 0 ? i % 3 : which - 1);
    std::memcpy(to + i * bytes, &table_->value[channel][levels[i]],
                static_cast<std::size_t>(bytes));
  }
}

// Returns false if the table or the memory layout rules the formula out.
bool Store::store_formula(std::byte* to, const std::uint8_t* rgb, int width) {
  if (!table_->formula || cpu_ < Cpu::avx2) return false;
  const auto bytes = static_cast<std::ptrdiff_t>(dtype_bytes(table_->dtype));
  if (place_.dx == 3 * bytes && place_.dc == bytes) {
    store_levels(to, rgb, 3 * width, 0);
    return true;
  }
  if (place_.dx != bytes) return false;
  const auto wide = static_cast<std::size_t>(width);
  if (planes_.size() < 3 * wide) planes_.resize(3 * wide);
  std::uint8_t* plane = planes_.data();
  split_row_sse(plane, plane + wide, plane + 2 * wide, rgb, width);
  for (int c = 0; c < 3; ++c, plane += wide) store_levels(to + c * place_.dc, plane, width, 1 + c);
  return true;
}

// Stores the first channel's levels, place_.dx bytes apart.
void Store::store_apart(std::byte* to, const std::uint8_t* levels, int width) const {
  const std::uint32_t* const value = table_->value[0].data();
  switch (dtype_bytes(table_->dtype)) {
    case 1:
      return look_up<std::uint8_t>(to, place_.dx, levels, 1, width, value);
    case 2:
      return look_up<std::uint16_t>(to, place_.dx, levels, 1, width, value);
    default:
      return look_up<std::uint32_t>(to, place_.dx, levels, 1, width, value);
  }
}

// Stores a row with one channel.
void Store::store_one(std::byte* to, const std::uint8_t* rgb, int width, bool mirror_x) {
  const auto wide = static_cast<std::size_t>(width);
  if (planes_.size() < 3 * wide) planes_.resize(3 * wide);
  std::uint8_t* const plane = planes_.data();
  const auto split = cpu_ >= Cpu::sse ? split_row_sse : split_row;
  split(plane, plane + wide, plane + 2 * wide, rgb, width);
  if (mirror_x) std::reverse(plane, plane + wide);
  if (place_.dx != static_cast<std::ptrdiff_t>(dtype_bytes(table_->dtype))) {
    store_apart(to, plane, width);  // other channels lie in between
  } else if (table_->dtype == Dtype::uint8) {
    std::memcpy(to, plane, wide);
  } else if (table_->formula && cpu_ >= Cpu::avx2) {
    store_levels(to, plane, width, 1);
  } else if (table_->dtype == Dtype::float32) {
    look_up<std::uint32_t>(to, 4, plane, 1, width, table_->value[0].data());
  } else {
    look_up<std::uint16_t>(to, 2, plane, 1, width, table_->value[0].data());
  }
}

// Stores pixels of ImageMode::i16, unchanged or through the table of 16-bit levels.
void Store::store_16_bits(std::byte* to, const std::uint8_t* pixels, int width,
                          bool mirror_x) const {
  const std::size_t bytes = table_->wide ? dtype_bytes(table_->dtype) : 2;
  for (int x = 0; x < width; ++x, to += bytes) {
    const std::uint8_t* const pixel = pixels + 3 * (mirror_x ? width - 1 - x : x);
    const std::uint32_t level = pixel[0] | static_cast<std::uint32_t>(pixel[1]) << 8;
    const std::uint32_t value = table_->wide ? (*table_->wide)[level] : level;
    std::memcpy(to, &value, bytes);  // little-endian
  }
}

void Store::begin(const PixelTable& table, const Placement& place,
                  std::span<const Erasure> erasures) {
  table_ = &table;
  place_ = place;
  erasures_ = erasures;
}

void Store::row(int y, const std::uint8_t* rgb, int width, bool mirror_x) {
  store(y, rgb, width, mirror_x);
  if (!erasures_.empty()) erase_row(erasures_, place_, table_->dtype, y, width);
}

void Store::store(int y, const std::uint8_t* rgb, int width, bool mirror_x) {
  std::byte* to = place_.base + y * place_.dy;
  if (place_.channels == 2 || table_->wide) return store_16_bits(to, rgb, width, mirror_x);
  if (place_.channels == 1) return store_one(to, rgb, width, mirror_x);
  if (table_->dtype == Dtype::uint8) return store_bytes(to, rgb, width, mirror_x);
  if (mirror_x) rgb = mirrored(rgb, width);
  if (store_formula(to, rgb, width)) return;
  if (table_->dtype == Dtype::float32) {
    store_row<std::uint32_t>(to, place_.dx, place_.dc, rgb, width, *table_);
  } else {
    store_row<std::uint16_t>(to, place_.dx, place_.dc, rgb, width, *table_);
  }
}

std::uint8_t* Store::place_of(int y, int width) {
  const bool as_given = erasures_.empty() && table_->dtype == Dtype::uint8 && place_.dx == 3 &&
                        place_.dc == 1 && place_.channels == 3;
  if (!as_given || place_.dy != std::ptrdiff_t{3} * width) return nullptr;
  return reinterpret_cast<std::uint8_t*>(place_.base + y * place_.dy);
}

// Stores 8-bit levels unchanged.
void Store::store_bytes(std::byte* to, const std::uint8_t* rgb, int width, bool mirror_x) {
  auto* bytes = reinterpret_cast<std::uint8_t*>(to);
  const bool interleaved = place_.dx == 3 && place_.dc == 1;
  const auto mirror = cpu_ >= Cpu::sse ? mirror_row_sse : mirror_row;
  const auto split = cpu_ >= Cpu::sse ? split_row_sse : split_row;
  if (interleaved && mirror_x) return mirror(bytes, rgb, width);
  if (interleaved) {
    std::memcpy(bytes, rgb, static_cast<std::size_t>(width) * 3);
    return;
  }
  if (mirror_x) rgb = mirrored(rgb, width);
  if (place_.dx == 1) {
    split(bytes, bytes + place_.dc, bytes + 2 * place_.dc, rgb, width);
  } else {
    store_row<std::uint8_t>(to, place_.dx, place_.dc, rgb, width, *table_);
  }
}

const std::uint8_t* Store::mirrored(const std::uint8_t* rgb, int width) {
  const std::size_t bytes = static_cast<std::size_t>(width) * 3;
  if (mirrored_.size() < bytes) mirrored_.resize(bytes);
  (cpu_ >= Cpu::sse ? mirror_row_sse : mirror_row)(mirrored_.data(), rgb, width);
  return mirrored_.data();
}

}  // namespace tundish
