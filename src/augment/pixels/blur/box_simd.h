// BoxRows on registers of 16-bit sums. Included by one file per instruction set, which defines
// `Lanes`: a register type (Words), its length (kLanes), and level(inside, ends, box).
#pragma once

#include "augment/pixels/blur/blur_rows.h"

namespace tundish {
namespace {

// The weights of a Box in halves of 16 bits, for products in 16-bit lanes.
struct BoxHalves {
  explicit BoxHalves(const Box& box)
      : whole_high(static_cast<std::uint16_t>(box.whole >> 16)),
        whole_low(static_cast<std::uint16_t>(box.whole)),
        part_high(static_cast<std::uint16_t>(box.part >> 16)),
        part_low(static_cast<std::uint16_t>(box.part)) {}
  std::uint16_t whole_high, whole_low, part_high, part_low;
};

template <class Lanes>
struct BoxLanes {
  using Words = typename Lanes::Words;
  static constexpr int kLanes = Lanes::kLanes;

  static inline __attribute__((always_inline)) Words load(const std::uint16_t* from) {
    Words out;
    __builtin_memcpy(&out, from, sizeof out);
    return out;
  }
  static inline __attribute__((always_inline)) void store(std::uint16_t* to, Words words) {
    __builtin_memcpy(to, &words, sizeof words);
  }

  // A full strip takes a loop of constant length, which needs only a few registers.
  static void widen(std::uint16_t* to, const std::uint8_t* from, int count) {
    if (count == kBoxStrip) {
      for (int i = 0; i < kBoxStrip; ++i) to[i] = from[i];
    } else {
      for (int i = 0; i < count; ++i) to[i] = from[i];
    }
  }
  static void narrow(std::uint8_t* to, const std::uint16_t* from, int count) {
    if (count == kBoxStrip) {
      for (int i = 0; i < kBoxStrip; ++i) to[i] = static_cast<std::uint8_t>(from[i]);
    } else {
      for (int i = 0; i < count; ++i) to[i] = static_cast<std::uint8_t>(from[i]);
    }
  }

  static void across(std::uint16_t* to, const std::uint16_t* line, int count, const Box& box) {
    const Lanes lanes(box);
    const int end = 3 * (box.radius + 1);
    for (int i = 0; i < count; i += kLanes) {
      Words inside = load(line + i);
      for (int d = 1; d <= box.radius; ++d) {
        inside += load(line + i - 3 * d) + load(line + i + 3 * d);
      }
      store(to + i, lanes.level(inside, load(line + i - end) + load(line + i + end)));
    }
  }

  static void down(std::uint16_t* to, const std::uint16_t* strip, int rows, const Box& box) {
    const Lanes lanes(box);
    const std::ptrdiff_t radius = box.radius;
    for (int i = 0; i < kBoxStrip; i += kLanes) {
      const std::uint16_t* from = strip + i;
      Words inside = Words{};  // sums for the row above the first row
      for (std::ptrdiff_t y = -radius - 1; y < radius; ++y) inside += load(from + y * kBoxStrip);
      for (std::ptrdiff_t y = 0; y < rows; ++y) {
        const Words above = load(from + (y - radius - 1) * kBoxStrip);
        inside += load(from + (y + radius) * kBoxStrip) - above;
        const Words ends = above + load(from + (y + radius + 1) * kBoxStrip);
        store(to + i + y * kBoxStrip, lanes.level(inside, ends));
      }
    }
  }
};

template <class Lanes>
constexpr BoxRows kBoxLanes = {BoxLanes<Lanes>::widen, BoxLanes<Lanes>::narrow,
                               BoxLanes<Lanes>::across, BoxLanes<Lanes>::down};

}  // namespace
}  // namespace tundish
