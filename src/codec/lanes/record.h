// A lanes record: one image as it is in a pack. docs/internals/lanes.md is the specification.
//
//   head   what the image is, how long each unit is; then a checksum
//   rows   the units of one row after the other; after each row a checksum
//
// A checksum of a row covers the head's too, so that rows of two records cannot change places.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "codec/lanes/coefficients.h"
#include "codec/lanes/encode.h"
#include "codec/lanes/geometry.h"
#include "codec/lanes/symbols.h"
#include "codec/lanes/tables.h"

namespace tundish::lanes {

inline constexpr std::byte kMagic[2] = {std::byte{0xff}, std::byte{0x4c}};

// What a record is, without looking at its units.
struct RecordHead {
  Geometry geometry;
  Color color = Color::ycc;
  int set = 0;  // of the tables
  Quantization quantization[kMaxComponents] = {};
};

// Width and height; empty when the first bytes are not a record's.
struct RecordSize {
  int width, height;
};
std::optional<RecordSize> read_size(Bytes bytes);

// A record that was read: it points into the bytes. Reused, it takes no new memory.
class Record {
 public:
  // Checks the head, and that the lengths of all units and checksums add up to the bytes given.
  std::optional<Fault> read(Bytes bytes);

  // Checks the checksums of the rows of units from y0 to y1 - 1.
  std::optional<Fault> check_rows(int y0, int y1) const;

  const RecordHead& head() const { return head_; }
  const Geometry& geometry() const { return head_.geometry; }
  Bytes unit(int x, int y) const;
  Bytes bytes() const { return bytes_; }
  std::size_t head_bytes() const { return row_begin(0); }  // with its checksum

  // What is said of a unit that no decoder can read.
  Fault unit_fault(int x, int y) const;

 private:
  std::size_t row_begin(int y) const;

  Bytes bytes_;
  RecordHead head_;
  std::uint32_t head_crc_ = 0;
  std::vector<std::uint32_t> offset_;  // of every unit, and the end of the last of each row
};

// Writes records; keeps its memory from image to image. One thread.
class RecordWriter {
 public:
  // Replaces `out`. False when a coefficient is out of range.
  bool write(std::vector<std::byte>& out, const Coefficients& image, const Tables& tables);

 private:
  UnitSymbols symbols_;
  UnitEncoder encoder_;
};

// Quantization table of libjpeg for a quality from 1 to 100.
Quantization standard_quantization(int quality, bool chroma);

}  // namespace tundish::lanes
