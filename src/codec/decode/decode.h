// Decodes the bytes of an image to strips of RGB. One decode stays on one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "base/image.h"
#include "codec/lanes/decode.h"

namespace tundish {

// Limits checked against the header before memory is allocated.
struct Limits {
  std::uint64_t max_pixels = 178'956'970;  // Pillow's limit for an error
  std::uint32_t max_side = 65'535;
  std::uint32_t max_scans = 500;           // scans of a progressive JPEG
  std::uint64_t max_bytes = 256ull << 20;  // size of one coded image, or of any other field
};

constexpr int kRowsPerStrip = 16;  // maximum rows per strip

// Element layout of an image of Codec::raw (codec/decode/raw.h).
struct RawPixels {
  std::uint8_t channels = 0;
  bool channels_first = false;
};

struct ImageHeader {
  Codec codec = Codec::unknown;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint8_t orientation = 1;           // EXIF, 1 to 8
  std::uint64_t held_bytes = 0;           // held for the whole image: see decode_bytes()
  bool gray16 = false;                    // 16-bit grays: a PNG, or raw
  bool keep16 = false;                    // set by the caller; see decode()
  bool keep_alpha = false;                // set by the caller; see decode()
  RawPixels raw = {};                     // for Codec::raw
  std::uint8_t reduction = 1;             // for a JPEG: see reduce()
  const lanes::Tables* tables = nullptr;  // tables of a lanes record; not part of its bytes
};

// Returns the codec of an image from its first bytes: unknown for other image formats (tiff, ppm,
// ...), empty if the bytes match no image format.
std::optional<Codec> sniff(Bytes bytes);

// Reads size and kind from the header alone; raw pixels have no header (Source::read_header).
// Returns codec_unsupported for undecodable image formats, image_too_large for sizes over the
// limits.
std::optional<Fault> read_header(ImageHeader& out, Bytes bytes, const Limits& limits = {});

// The final check of read_header(): the image has pixels and respects the limits.
std::optional<Fault> check_limits(const ImageHeader& header, std::size_t bytes,
                                  const Limits& limits);

// Requests that a JPEG be decoded at 1 / by of its size, like Pillow's draft mode. `by` is 1, 2, 4
// or 8. Sets width and height to the size of the smaller image.
void reduce(ImageHeader& header, int by);

// Returns the maximum memory that decode() takes for this window. Depends only on the arguments.
// Decoders work on a few rows at a time, except for formats held as a whole: a JPEG of several
// scans (header.held_bytes: all coefficients), an interlaced PNG or GIF (all rows) and a WebP.
std::uint64_t decode_bytes(const ImageHeader& header, const Window& window);

// Buffers that a thread reuses between images, so that decoding allocates nothing.
struct DecodeScratch {
  std::vector<std::uint8_t> rows;
  std::unique_ptr<lanes::Decoder> lanes;  // created on first use
};

// Pushes the rows of `window` (inside the image) into the sink, top to bottom. The pixels equal
// the same window of a full decode, which equals Pillow's convert("RGB"). On a fault, some rows
// may already have been pushed. keep16 requires 16-bit grays (otherwise image_kind); a pixel is
// then the low byte, the high byte, and 0. With keep_alpha, strips carry the alpha of Pillow's
// convert("RGBA"). Strips have no alpha without keep_alpha, or if the image has none.
std::optional<Fault> decode(StripSink& sink, Bytes bytes, const ImageHeader& header, Window window,
                            DecodeScratch& scratch, const Limits& limits = {});

}  // namespace tundish
