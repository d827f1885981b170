#include "augment/store.h"

#include <cstring>

namespace tundish {
namespace {

template <class T>
void store_row(std::byte* to, std::ptrdiff_t dx, std::ptrdiff_t dc, const std::uint8_t* rgb,
               int width, const PixelTable& table) {
  for (int c = 0; c < 3; ++c) {
    const auto& value = table.value[static_cast<std::size_t>(c)];
    std::byte* place = to + c * dc;
    for (int x = 0; x < width; ++x, place += dx) {
      const T element = static_cast<T>(value[rgb[3 * x + c]]);
      std::memcpy(place, &element, sizeof element);
    }
  }
}

// Interleaved in, interleaved out: one run through memory.
template <class T>
void store_row_interleaved(std::byte* to, std::ptrdiff_t dx, const std::uint8_t* rgb, int width,
                           const PixelTable& table) {
  for (int x = 0; x < width; ++x, rgb += 3, to += dx) {
    const T pixel[3] = {static_cast<T>(table.value[0][rgb[0]]),
                        static_cast<T>(table.value[1][rgb[1]]),
                        static_cast<T>(table.value[2][rgb[2]])};
    std::memcpy(to, pixel, sizeof pixel);
  }
}

template <class T>
void store_row_as(std::byte* to, std::ptrdiff_t dx, std::ptrdiff_t dc, const std::uint8_t* rgb,
                  int width, const PixelTable& table) {
  if (dc == static_cast<std::ptrdiff_t>(sizeof(T))) {
    store_row_interleaved<T>(to, dx, rgb, width, table);
  } else {
    store_row<T>(to, dx, dc, rgb, width, table);
  }
}

}  // namespace

void Store::begin(const PixelTable& table, const Placement& place) {
  table_ = &table;
  place_ = place;
}

void Store::row(int y, const std::uint8_t* rgb, int width, bool mirror_x) {
  std::byte* to = place_.base + y * place_.dy;
  std::ptrdiff_t dx = place_.dx;
  if (mirror_x) {
    to += (width - 1) * dx;
    dx = -dx;
  }
  switch (table_->dtype) {
    case Dtype::uint8:
      if (dx == 3 && place_.dc == 1) {
        std::memcpy(to, rgb, static_cast<std::size_t>(width) * 3);
      } else {
        store_row_as<std::uint8_t>(to, dx, place_.dc, rgb, width, *table_);
      }
      return;
    case Dtype::float32:
      return store_row_as<std::uint32_t>(to, dx, place_.dc, rgb, width, *table_);
    case Dtype::float16:
    case Dtype::bfloat16:
      return store_row_as<std::uint16_t>(to, dx, place_.dc, rgb, width, *table_);
  }
}

}  // namespace tundish
