// What the kernels get of a batch: plain structs in one flat buffer that is copied to the
// GPU with the coded bytes in front. Made by batch_plan.h, carried out by the kernels and, for
// tests, by batch_reference.h.
//
//   | coded rows of units, each at 64 bytes | slack | UnitTask, longest first | ImageTask | Item |
//   | Piece |
//
// The coded part of records that are on the GPU already is filled on the GPU, piece by piece. The
// host's buffer does not hold it and begins after it; other batches have no pieces.
//
// Offsets into device memory that is not copied (planes, weights) are part of the plan too: every
// byte that a kernel touches is laid out on the host, from the geometry alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "augment/filter.h"

namespace tundish::cuda {

inline constexpr int kPlaneAlign = 32;    // bytes; rows and planes begin at multiples
inline constexpr int kCodedAlign = 64;    // bytes; rows of units begin at multiples
inline constexpr int kCodedSlack = 1024;  // readable bytes after the last unit, all of them 0

// One unit to decode.
struct UnitTask {
  std::uint32_t offset;  // of its bytes in the coded part, even
  std::uint16_t bytes;   // even
  std::uint16_t image;   // number in the batch
  std::uint16_t x, y;    // which unit of the image
};

// One component of an image: its blocks, and the plane of those that the crop needs.
struct PlaneTask {
  std::uint32_t at;                      // of the plane, in pieces of kPlaneAlign bytes
  std::uint32_t pitch;                   // bytes from row to row, a multiple of kPlaneAlign
  std::uint16_t unit_across, unit_down;  // blocks of a whole unit
  std::uint16_t blocks_x, blocks_y;      // blocks of the component
  std::uint16_t x0, y0, x1, y1;          // blocks that the plane has
  std::uint16_t width, height;           // samples of the component
};

// One axis of the resize, in the final order of the outputs.
struct AxisTask {
  std::uint32_t weights;     // words before this axis' part of the weights, a multiple of four
  std::uint16_t in, out;     // length of the crop, before and after the resize
  std::uint16_t from, keep;  // which outputs are kept
  std::uint16_t groups;      // words of four taps per output
  std::uint16_t taps;        // most inputs of an output
  std::uint8_t backwards;    // the line is resized from its end to its beginning
  std::uint8_t reversed;     // the last output comes first
  std::uint16_t end;         // one past the last place of the crop that is read
};

enum class Chroma : std::uint8_t { gray, full, smooth_wide, smooth_both, smooth_high, repeat };

struct ImageTask {
  PlaneTask plane[3];
  AxisTask axis[2];             // x, y
  std::int32_t crop_x, crop_y;  // of the crop's first pixel; outside the image is padding
  std::uint16_t width, height;  // of the image, in pixels
  std::uint64_t out;            // elements before the image in the batch
  std::int32_t dy, dx, dc;      // elements from row to row, pixel to pixel, channel to channel
  std::uint8_t components;
  std::uint8_t set;  // of the tables
  Chroma chroma;
  std::uint8_t rgb;               // the components are RGB
  std::uint8_t shift_x, shift_y;  // chroma is coarser by 1 << shift
  std::uint8_t padded;            // some pixel of the crop is outside the image
  PadMode pad_mode;
  Filter filter;
  std::uint8_t fill[3];
  std::uint16_t quantization[3][64];  // natural order
};
static_assert(sizeof(ImageTask) % 8 == 0);

// A tile of an image's output: one thread block.
struct Item {
  std::uint32_t image;
  std::uint16_t x0, x1, y0, y1;  // outputs, in their final order
};

// A row of units to be copied from the records that are resident on the GPU.
struct Piece {
  std::uint64_t from;    // bytes before it in the resident records
  std::uint32_t to;      // bytes before it in the coded part, a multiple of kCodedAlign
  std::uint32_t length;  // bytes, even
};

// Where things are in the flat buffer, in bytes.
struct BatchLayout {
  std::uint32_t units, images, items, pieces;  // how many
  std::uint32_t tile_columns;                  // of the widest tile
  std::uint64_t coded_end, units_at, images_at, items_at, pieces_at, bytes;
  std::uint64_t host_at;  // where the host's buffer begins: at 0, or at the units
  std::uint64_t host_bytes() const { return bytes - host_at; }
  // Device memory that is not copied.
  std::uint64_t plane_bytes, weight_words;
};

// The result of an image: the first unit that was refused, row by row from the left, or no error.
inline constexpr std::uint32_t kNoError = 0xffffffffu;
constexpr std::uint32_t error_word(int unit_x, int unit_y) {
  return static_cast<std::uint32_t>(unit_y) << 16 | static_cast<std::uint32_t>(unit_x);
}

// Shared memory of a thread block that makes a tile: rows of RGB, then rows after the horizontal
// pass, four to a word. A tile's part of the crop must fit, and has at most so many columns and
// rows of output: more rows would leave multiprocessors without work.
inline constexpr int kTileRgbBytes = 16 * 1024;
inline constexpr int kTileRowWords = 3 * 12 * 224;  // three channels, 48 rows of 224 columns
inline constexpr int kTileColumns = 224;
inline constexpr int kTileRows = 56;
inline constexpr int kTileSlackColumns = 16;  // after each row of RGB

}  // namespace tundish::cuda
