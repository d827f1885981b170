// The last step on the CPU: maps 8-bit rows through the table into the batch's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "augment/cpu/placement.h"
#include "augment/cpu/resample.h"
#include "augment/erasure.h"
#include "augment/pixel_table.h"

namespace tundish {

class Store : public RowSink {
 public:
  explicit Store(Cpu cpu = tundish::cpu()) : cpu_(cpu) {}
  // Keeps pointers to the table and to the erasures.
  void begin(const PixelTable& table, const Placement& place,
             std::span<const Erasure> erasures = {});
  void row(int y, const std::uint8_t* rgb, int width, bool mirror_x) override;
  std::uint8_t* place_of(int y, int width) override;

 private:
  void store(int y, const std::uint8_t* rgb, int width, bool mirror_x);
  void store_bytes(std::byte* to, const std::uint8_t* rgb, int width, bool mirror_x);
  void store_one(std::byte* to, const std::uint8_t* rgb, int width, bool mirror_x);
  void store_apart(std::byte* to, const std::uint8_t* levels, int width) const;
  void store_16_bits(std::byte* to, const std::uint8_t* pixels, int width, bool mirror_x) const;
  void store_levels(std::byte* to, const std::uint8_t* levels, int count, int which) const;
  bool store_formula(std::byte* to, const std::uint8_t* rgb, int width);
  const std::uint8_t* mirrored(const std::uint8_t* rgb, int width);

  Cpu cpu_;
  const PixelTable* table_ = nullptr;
  Placement place_;
  std::span<const Erasure> erasures_;
  std::vector<std::uint8_t> mirrored_;  // one row
  std::vector<std::uint8_t> planes_;    // the channels of one row
};

}  // namespace tundish
