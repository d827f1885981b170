// A lanes record: one image as stored in a pack. docs/internals/lanes.md is the specification.
//
//   head   the properties of the image and the length of each unit; then a checksum
//   rows   the units of one row, contiguous; after each row a checksum
//
// A row's checksum also covers the head's checksum, so that rows of two records cannot be swapped.
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

// The properties of a record, without its units.
struct RecordHead {
  Geometry geometry;
  Color color = Color::ycc;
  int set = 0;  // index of the table set
  Quantization quantization[kMaxComponents] = {};
};

// Width and height of a record. read_size() returns empty if the first bytes are not a record.
struct RecordSize {
  int width, height;
};
std::optional<RecordSize> read_size(Bytes bytes);

// A parsed record, which points into the bytes. Reusing the object allocates no new memory.
class Record {
 public:
  // Checks the head, and that the lengths of all units and checksums add up to the given bytes.
  std::optional<Fault> read(Bytes bytes);

  // Verifies the checksums of the rows of units from y0 to y1 - 1.
  std::optional<Fault> check_rows(int y0, int y1) const;

  const RecordHead& head() const { return head_; }
  const Geometry& geometry() const { return head_.geometry; }
  Bytes unit(int x, int y) const;
  Bytes bytes() const { return bytes_; }
  std::size_t head_bytes() const { return row_begin(0); }  // including its checksum

  // Returns the fault for a unit that cannot be decoded.
  Fault unit_fault(int x, int y) const;

 private:
  std::size_t row_begin(int y) const;

  Bytes bytes_;
  RecordHead head_;
  std::uint32_t head_crc_ = 0;
  std::vector<std::uint32_t> offset_;  // where units begin and each row's last unit ends
};

// Writes records; reuses its memory from image to image. Not thread-safe.
class RecordWriter {
 public:
  // Replaces `out`. Returns false if a coefficient is out of range.
  bool write(std::vector<std::byte>& out, const Coefficients& image, const Tables& tables);

 private:
  UnitSymbols symbols_;
  UnitEncoder encoder_;
};

// Returns libjpeg's quantization table for a quality from 1 to 100.
Quantization standard_quantization(int quality, bool chroma);

}  // namespace tundish::lanes
