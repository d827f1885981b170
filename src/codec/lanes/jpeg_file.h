// A JPEG file taken apart into its coefficients and everything else, and put together again, byte
// for byte.
//
// "Everything else" is called the restore data. Coefficients and restore data give the file back:
//
//   restore := flags:u8  [padding]  [runs]  [tails]  [edges of component 0]  [.. 1]  [.. 2] literal
//   padding := usual:u8  count:varint  count x (skip:varint  bits:u8)
//   runs    := count:varint  count x (skip:varint  n:varint  n x (skip:varint))
//   tails   := count:varint  count x (skip:varint  n:varint  n x byte)
//   edges   := count:varint  count x (dc:signed  n:u8  n x (place:u8  value:signed))
//   literal := the file without its entropy-coded data, to the end of the restore data
//
// varint: 7 bits per byte, the low ones first, 0x80 means that more follow; at most 5 bytes.
// signed: a varint of 0, -1, 1, -2, 2, ... = 0, 1, 2, 3, 4, ...
// skip: how many scans, intervals or blocks are between the one before and this one.
//
// flags    Bits 0 to 2: edges of component 0, 1, 2 follow; bit 3: padding, bit 4: runs, bit 5:
//          tails. The others are 0. A file of libjpeg has flags 0 and nothing but literal bytes.
// literal  Markers with their segments, fill bytes, what follows the end marker. The writer walks
//          these markers itself: after each SOS it writes the scan that the coefficients give with
//          the frame (SOF0, SOF1, SOF2), tables (DHT), restart interval (DRI) and scan header valid
//          at that place, then it goes on with the literal bytes. After EOI, or where no marker
//          stands, the rest is copied.
// padding  A scan, and each of its restart intervals, ends on a whole byte. The bits that fill it
//          up are the low bits of `usual` (0xff when there is no padding section), or of `bits` for
//          the intervals listed, which are counted through all scans of the file.
// runs     A progressive AC scan joins blocks without further values to runs, as long as its table
//          has a code for the length, and as libjpeg until the run has more than 937 correction
//          bits. Scans listed here go on to 65,473, but end their runs at the n blocks listed.
// tails    Bytes after the data of a scan, before the next marker.
// edges    Blocks that fill up an MCU of an interleaved scan beyond the image's edge. Without this
//          section they repeat the DC of the block before them in the MCU and have no AC: what
//          libjpeg writes. Otherwise all of them are here, row by row: those to the right of each
//          row of blocks, then the rows below. `dc` is the difference to the block before in the
//          MCU, then follow n AC coefficients by their place in zigzag order.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "codec/lanes/coefficients.h"

namespace tundish::lanes {

// Why a JPEG cannot become a lanes record.
enum class Unfit : std::uint8_t {
  none,
  not_jpeg,
  cmyk,                      // four components
  precision,                 // other than 8 bits
  arithmetic,                // coded arithmetically
  lossless_or_hierarchical,  // SOF3, SOF5, ...
  sampling,                  // ratios or numbers of components without a name in Sampling
  corrupt,                   // libjpeg would complain: pixels after an error are guesses
  incomplete,                // scans are missing, and libjpeg would smooth the blocks
  range,                     // a coefficient beyond +-kMaxAc (AC and DC)
  too_large,                 // over a limit
  not_restorable,            // set by the caller when settle() is false
  growth,                    // set by the caller when the record is too large
};
inline constexpr int kUnfits = 13;

// In two or three words, for a table: "arithmetic coding".
const char* unfit_name(Unfit unfit);

struct JpegLimits {
  std::uint64_t max_pixels = 178'956'970;
  std::uint32_t max_scans = 500;
  std::uint64_t max_bytes = 256ull << 20;  // of the file
};

// A whole JPEG file into coefficients and restore data; both reuse their memory, and mean nothing
// unless the answer is Unfit::none. Then every coefficient is within +-kMaxAc (so differences of DC
// are within +-kMaxDcDifference) and libjpeg would decode the same coefficients, but
// the restore data are not proven: see settle(). Any bytes may be given.
Unfit take_apart(Coefficients& out, std::vector<std::byte>& restore, Bytes file,
                 const JpegLimits& limits = {});

// The file again. Any coefficients and restore data may be given: they give some bytes or a fault.
// `file` reuses its memory and never grows much over limits.max_bytes, twice that while it grows.
// What else is taken is bounded by the image: see read_restore().
std::optional<Fault> put_together(std::vector<std::byte>& file, const Coefficients& coefficients,
                                  Bytes restore, const JpegLimits& limits = {});

// Proves that put_together gives exactly this file. Where it does not, adds to the restore data of
// take_apart what the work of other encoders than libjpeg needs: padding, runs, tails. False: the
// file is not restorable. As fast as restores() when nothing has to be added.
bool settle(std::vector<std::byte>& restore, const Coefficients& coefficients, Bytes file,
            std::vector<std::byte>& scratch);

// Drops EXIF, ICC profiles, comments and what follows the image from restore data; what decoders
// need stays. The file that they give is another one, with the same pixels.
void strip_metadata(std::vector<std::byte>& restore, const Geometry& geometry);

// Whether put_together gives exactly this file. `scratch` is memory to reuse.
bool restores(const Coefficients& coefficients, Bytes restore, Bytes file,
              std::vector<std::byte>& scratch);

}  // namespace tundish::lanes
