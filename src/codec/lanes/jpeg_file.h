// Splits a JPEG file into its coefficients and everything else, and reassembles the file byte for
// byte.
//
// "Everything else" is called the restore data. Coefficients and restore data determine the file:
//
//   restore := flags:u8  [padding]  [runs]  [tails]  [edges of component 0]  [.. 1]  [.. 2] literal
//   padding := usual:u8  count:varint  count x (skip:varint  bits:u8)
//   runs    := count:varint  count x (skip:varint  n:varint  n x (skip:varint))
//   tails   := count:varint  count x (skip:varint  n:varint  n x byte)
//   edges   := count:varint  count x (dc:signed  n:u8  n x (place:u8  value:signed))
//   literal := the file without its entropy-coded data, to the end of the restore data
//
// varint: 7 bits per byte, low bits first, 0x80 marks that more follow; at most 5 bytes.
// signed: 0, -1, 1, -2, 2, ... stored as the varints 0, 1, 2, 3, 4, ...
// skip: number of scans, intervals or blocks between the previous one and this one.
//
// flags    Bits 0 to 2: edges of component 0, 1, 2 follow; bit 3: padding, bit 4: runs, bit 5:
//          tails. The other bits are 0. A file of libjpeg has flags 0 and only literal bytes.
// literal  Markers with their segments, fill bytes, data after the end marker. The writer walks
//          these markers itself. After each SOS it writes the scan determined by the coefficients
//          and by the frame (SOF0, SOF1, SOF2), tables (DHT), restart interval (DRI) and scan
//          header valid at that place; the literal bytes then continue. After EOI, or where no
//          marker is found, the rest is copied.
// padding  A scan, and each of its restart intervals, ends on a whole byte. The padding bits are
//          the low bits of `usual` (0xff if there is no padding section), or of `bits` for
//          the intervals listed, which are counted through all scans of the file.
// runs     A progressive AC scan joins blocks without further values to runs. A run continues while
//          the table has a code for its length and, as in libjpeg, up to 937 correction bits.
//          Scans listed here allow 65,473 correction bits, but end runs at the n blocks listed.
// tails    Bytes between the data of a scan and the next marker.
// edges    Blocks that pad an MCU of an interleaved scan beyond the image's edge. Without this
//          section, they repeat the DC of the previous block in the MCU and have no AC, as
//          libjpeg writes them. Otherwise every such block is listed: first the blocks right of
//          each row of blocks, then the rows below. `dc` is the difference to the previous block in
//          the MCU; n AC coefficients follow, by position in zigzag order.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "codec/lanes/coefficients.h"

namespace tundish::lanes {

// Reasons why a JPEG cannot become a lanes record.
enum class Unfit : std::uint8_t {
  none,
  not_jpeg,
  cmyk,                      // four components
  precision,                 // other than 8 bits
  arithmetic,                // coded arithmetically
  lossless_or_hierarchical,  // SOF3, SOF5, ...
  sampling,                  // sampling factors or component counts that Sampling does not cover
  corrupt,                   // libjpeg would warn: pixels after an error are guesses
  incomplete,                // scans are missing, and libjpeg would smooth the blocks
  range,                     // a coefficient beyond +-kMaxAc (AC and DC)
  too_large,                 // above a limit
  not_restorable,            // set by the caller if settle() returns false
  growth,                    // set by the caller if the record is too large
};
inline constexpr int kUnfits = 13;

// Returns two or three words for a table, such as "arithmetic coding".
const char* unfit_name(Unfit unfit);

struct JpegLimits {
  std::uint64_t max_pixels = 178'956'970;
  std::uint32_t max_scans = 500;
  std::uint64_t max_bytes = 256ull << 20;  // size of the file
};

// Splits a JPEG file into coefficients and restore data, which are valid only for Unfit::none. Both
// reuse their memory. Every coefficient is then within +-kMaxAc (so DC differences are within
// +-kMaxDcDifference), and libjpeg would decode the same coefficients. The restore data
// are not verified: see settle(). Accepts any bytes.
Unfit take_apart(Coefficients& out, std::vector<std::byte>& restore, Bytes file,
                 const JpegLimits& limits = {});

// Reassembles the file. Any coefficients and restore data yield some bytes or a fault. `file`
// reuses its memory and never grows much over limits.max_bytes, or twice the limit while growing.
// The image bounds all other memory: see read_restore().
std::optional<Fault> put_together(std::vector<std::byte>& file, const Coefficients& coefficients,
                                  Bytes restore, const JpegLimits& limits = {});

// Verifies that put_together() yields exactly this file. If not, adds the sections that other
// encoders than libjpeg need to take_apart()'s restore data: padding, runs, tails. Returns false if
// the file is not restorable. As fast as restores() if nothing has to be added.
bool settle(std::vector<std::byte>& restore, const Coefficients& coefficients, Bytes file,
            std::vector<std::byte>& scratch);

// Removes EXIF, ICC profiles, comments and data after the image from restore data; keeps what
// decoders need. The resulting file differs but has the same pixels. An orientation from 2 to 8
// becomes its only EXIF entry, because the file may be packed again.
void strip_metadata(std::vector<std::byte>& restore, const Geometry& geometry,
                    std::uint8_t orientation = 1);

// Returns whether put_together() yields exactly this file. `scratch` is reused memory.
bool restores(const Coefficients& coefficients, Bytes restore, Bytes file,
              std::vector<std::byte>& scratch);

}  // namespace tundish::lanes
