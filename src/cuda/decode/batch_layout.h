// Data that the kernels receive for a batch: plain structs in one flat buffer, copied to the GPU
// with the coded bytes in front. Built by batch_plan.h and executed by the kernels or, in tests, by
// batch_reference.h.
//
//   | coded rows of units, each at 64 bytes | slack | UnitTask, longest first | ImageTask | Item |
//   | Piece |
//
// For records already on the GPU, the GPU fills the coded part piece by piece. The host's buffer
// then begins after the coded part. Other batches have no pieces.
//
// The plan also assigns offsets into device memory that is not copied (planes, weights): the host
// lays out every byte that a kernel touches, from the geometry alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "augment/filter.h"

namespace tundish::cuda {

inline constexpr int kPlaneAlign = 32;    // bytes; alignment of rows and planes
inline constexpr int kCodedAlign = 64;    // bytes; alignment of rows of units
inline constexpr int kCodedSlack = 1024;  // readable zero bytes after the last unit

// One unit to decode.
struct UnitTask {
  std::uint32_t offset;  // byte offset in the coded part, even
  std::uint16_t bytes;   // even
  std::uint16_t image;   // number in the batch
  std::uint16_t x, y;    // position of the unit in the image's grid of units
};

// One component of an image: its blocks, and the plane with the blocks that the crop needs.
struct PlaneTask {
  std::uint32_t at;                      // start of the plane, in units of kPlaneAlign bytes
  std::uint32_t pitch;                   // bytes from row to row, a multiple of kPlaneAlign
  std::uint16_t unit_across, unit_down;  // blocks of a whole unit
  std::uint16_t blocks_x, blocks_y;      // blocks of the component
  std::uint16_t x0, y0, x1, y1;          // range of blocks in the plane
  std::uint16_t width, height;           // samples of the component
};

// One axis of the resize, in the final output order.
struct AxisTask {
  std::uint32_t weights;     // first word of this axis' weights, a multiple of four
  std::uint16_t in, out;     // length of the crop before and after the resize
  std::uint16_t from, keep;  // first kept output, number of kept outputs
  std::uint16_t groups;      // words of four taps per output
  std::uint16_t taps;        // maximum inputs per output
  std::uint8_t backwards;    // true: the line is resized from its end to its beginning
  std::uint8_t reversed;     // true: the last output comes first
  std::uint16_t end;         // one past the last crop position that is read
};

enum class Chroma : std::uint8_t { gray, full, smooth_wide, smooth_both, smooth_high, repeat };

struct ImageTask {
  PlaneTask plane[3];
  AxisTask axis[2];             // x, y
  std::int32_t crop_x, crop_y;  // first pixel of the crop; positions outside the image are padding
  std::uint16_t width, height;  // size of the image, in pixels
  std::uint64_t out;            // first element of the image in the batch
  std::int32_t dy, dx, dc;      // element strides between rows, pixels and channels
  std::uint8_t components;
  std::uint8_t set;  // index of the table set
  Chroma chroma;
  std::uint8_t rgb;               // true: the components are RGB
  std::uint8_t shift_x, shift_y;  // log2 of the chroma subsampling
  std::uint8_t padded;            // true: some pixel of the crop is outside the image
  PadMode pad_mode;
  Filter filter;
  std::uint8_t fill[3];
  std::uint16_t quantization[3][64];  // natural order
};
static_assert(sizeof(ImageTask) % 8 == 0);

// A tile of an image's output, processed by one thread block.
struct Item {
  std::uint32_t image;
  std::uint16_t x0, x1, y0, y1;  // range of outputs, in final order
};

// A row of units to copy from the records resident on the GPU.
struct Piece {
  std::uint64_t from;    // byte offset in the resident records
  std::uint32_t to;      // byte offset in the coded part, a multiple of kCodedAlign
  std::uint32_t length;  // bytes, even
};

// Byte offsets of the sections of the flat buffer.
struct BatchLayout {
  std::uint32_t units, images, items, pieces;  // counts
  std::uint32_t tile_columns;                  // columns of the widest tile
  std::uint64_t coded_end, units_at, images_at, items_at, pieces_at, bytes;
  std::uint64_t host_at;  // start of the host's buffer: 0, or units_at
  std::uint64_t host_bytes() const { return bytes - host_at; }
  // Sizes of device memory that is not copied.
  std::uint64_t plane_bytes, weight_words;
};

// Result word of an image: the first refused unit in row-major order, or kNoError.
inline constexpr std::uint32_t kNoError = 0xffffffffu;
constexpr std::uint32_t error_word(int unit_x, int unit_y) {
  return static_cast<std::uint32_t>(unit_y) << 16 | static_cast<std::uint32_t>(unit_x);
}

// Shared memory of a thread block that computes a tile: rows of RGB, then rows after the horizontal
// pass, four to a word. A tile's part of the crop must fit, within the limits on columns and rows
// of output. More rows would leave multiprocessors idle.
inline constexpr int kTileRgbBytes = 16 * 1024;
inline constexpr int kTileRowWords = 3 * 12 * 224;  // three channels, 48 rows of 224 columns
inline constexpr int kTileColumns = 224;
inline constexpr int kTileRows = 56;
inline constexpr int kTileSlackColumns = 16;  // after each row of RGB

}  // namespace tundish::cuda
