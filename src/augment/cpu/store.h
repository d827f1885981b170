// The last step on the CPU: finished 8-bit rows through the table into the batch's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "augment/cpu/resample.h"
#include "augment/pixel_table.h"

namespace tundish {

// Where the element (y, x, channel) of one image is: base + y*dy + x*dx + c*dc bytes.
struct Placement {
  std::byte* base = nullptr;
  std::ptrdiff_t dy = 0, dx = 0, dc = 0;
};

class Store : public RowSink {
 public:
  explicit Store(Cpu cpu = tundish::cpu()) : cpu_(cpu) {}
  void begin(const PixelTable& table, const Placement& place);  // keeps a pointer to the table
  void row(int y, const std::uint8_t* rgb, int width, bool mirror_x) override;
  std::uint8_t* place_of(int y, int width) override;

 private:
  void store_bytes(std::byte* to, const std::uint8_t* rgb, int width, bool mirror_x);
  bool store_formula(std::byte* to, const std::uint8_t* rgb, int width);
  const std::uint8_t* mirrored(const std::uint8_t* rgb, int width);

  Cpu cpu_;
  const PixelTable* table_ = nullptr;
  Placement place_;
  std::vector<std::uint8_t> mirrored_;  // a row
  std::vector<std::uint8_t> planes_;    // a row's channels
};

}  // namespace tundish
