// Bytes of an image to strips of RGB. One decode stays on one thread.
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

// Checked against the header before memory is taken.
struct Limits {
  std::uint64_t max_pixels = 178'956'970;  // what Pillow refuses
  std::uint32_t max_side = 65'535;
  std::uint32_t max_scans = 500;           // of a progressive JPEG
  std::uint64_t max_bytes = 256ull << 20;  // of one coded image, or of any other field
};

constexpr int kRowsPerStrip = 16;  // that a decoder hands over at once

// How the elements of an image of Codec::raw lie (codec/decode/raw.h).
struct RawPixels {
  std::uint8_t channels = 0;
  bool channels_first = false;
};

struct ImageHeader {
  Codec codec = Codec::unknown;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint8_t orientation = 1;           // EXIF, 1 to 8
  std::uint64_t held_bytes = 0;           // what a decoder holds of the whole image: see below
  bool gray16 = false;                    // 16-bit grays: a PNG, or raw
  bool keep16 = false;                    // set by whoever decodes: see decode()
  bool keep_alpha = false;                // the same
  RawPixels raw = {};                     // of Codec::raw
  std::uint8_t reduction = 1;             // of a JPEG: see reduce()
  const lanes::Tables* tables = nullptr;  // what a lanes record is decoded with; not in its bytes
};

// Says by the first bytes which codec an image has: unknown for other image formats (tiff, ppm,
// ...), empty when the bytes belong to no known image format.
std::optional<Codec> sniff(Bytes bytes);

// Size and kind from the header alone; raw pixels have none (Source::read_header). A format that is
// known but not decodable here gives codec_unsupported; sizes over the limits give image_too_large.
std::optional<Fault> read_header(ImageHeader& out, Bytes bytes, const Limits& limits = {});

// What read_header() checks at its end: that there are pixels, and that the limits allow them.
std::optional<Fault> check_limits(const ImageHeader& header, std::size_t bytes,
                                  const Limits& limits);

// A JPEG that is to be decoded at 1 / by of its size, as Pillow's draft mode does: `by` is 1, 2, 4
// or 8. Width and height become those of the smaller image.
void reduce(ImageHeader& header, int by);

// Memory that decode() takes for this window, at most. Pure: of the header and the window alone.
// Decoders work on a few rows at a time, but a JPEG of several scans (header.held_bytes: all its
// coefficients), an interlaced PNG or GIF (all its rows) and a WebP are held as a whole.
std::uint64_t decode_bytes(const ImageHeader& header, const Window& window);

// What a thread keeps between images so that decoding takes no new memory.
struct DecodeScratch {
  std::vector<std::uint8_t> rows;
  std::unique_ptr<lanes::Decoder> lanes;  // made when first needed
};

// Pushes the rows of `window` (inside the image) into the sink, top to bottom. The pixels equal
// the same window of a full decode, which equals Pillow's convert("RGB"). On a fault some rows
// may have been pushed already. With keep16 the image must be of 16-bit grays (otherwise
// image_kind), and a pixel is the low byte, the high byte, and 0. With keep_alpha strips have the
// alpha of Pillow's convert("RGBA"); without it, and of images that have none, they have none.
std::optional<Fault> decode(StripSink& sink, Bytes bytes, const ImageHeader& header, Window window,
                            DecodeScratch& scratch, const Limits& limits = {});

}  // namespace tundish
