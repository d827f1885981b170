#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "codec/decode/jpeg.h"
#include "codec/decode/orientation/exif.h"

namespace tundish {
namespace {

using namespace std::string_view_literals;

std::uint32_t u8(Bytes bytes, std::size_t at) { return std::to_integer<std::uint32_t>(bytes[at]); }
std::uint32_t u16(Bytes bytes, std::size_t at) { return u8(bytes, at) << 8 | u8(bytes, at + 1); }

// Start of frame: C0 to CF except DHT, JPG and DAC.
bool is_frame(std::uint32_t marker) {
  return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
}

// Baseline, extended and progressive, with Huffman or arithmetic coding.
bool is_decodable(std::uint32_t marker) {
  return marker <= 0xc2 || marker == 0xc9 || marker == 0xca;
}

// `segment` is the part after the length: precision, height, width, components.
std::optional<Fault> read_frame(ImageHeader& out, Bytes segment, std::uint32_t marker,
                                std::size_t offset) {
  if (segment.size() < 6) {
    return Fault{ErrorCode::image_header, "the frame header is too short", offset};
  }
  if (!is_decodable(marker)) {
    return Fault{ErrorCode::codec_unsupported,
                 fmt::format("JPEG coding process SOF{} (lossless or hierarchical)", marker - 0xc0),
                 offset};
  }
  if (u8(segment, 0) != 8) {
    return Fault{ErrorCode::codec_unsupported,
                 fmt::format("JPEG with {} bits per sample", u8(segment, 0)), offset};
  }
  const std::uint32_t components = u8(segment, 5);
  if (components != 1 && components != 3 && components != 4) {
    return Fault{ErrorCode::codec_unsupported, fmt::format("JPEG with {} components", components),
                 offset};
  }
  out.height = u16(segment, 1);
  out.width = u16(segment, 3);
  return std::nullopt;
}

// Returns the size of all coefficients, which libjpeg holds for an image of several scans: 2 bytes
// each, in whole MCUs. `segment` is a frame header accepted by read_frame().
std::uint64_t coefficient_bytes(const ImageHeader& header, Bytes segment) {
  const std::size_t components =
      std::min<std::size_t>(u8(segment, 5), (segment.size() - 6) / 3);  // the rest is missing
  const auto factor = [&](std::size_t c, int shift) {
    return std::clamp<std::uint64_t>(u8(segment, 7 + 3 * c) >> shift & 15, 1, 4);
  };
  std::uint64_t most_h = 1, most_v = 1;
  for (std::size_t c = 0; c < components; ++c) {
    most_h = std::max(most_h, factor(c, 4));
    most_v = std::max(most_v, factor(c, 0));
  }
  const std::uint64_t across = header.width / (8 * most_h) + 1,
                      down = header.height / (8 * most_v) + 1;
  std::uint64_t blocks = 0;
  for (std::size_t c = 0; c < components; ++c) {
    blocks += across * factor(c, 4) * down * factor(c, 0);
  }
  return blocks * 64 * 2;
}

// Collects the orientation from APP1 segments. The first EXIF segment counts; of XMP segments, the
// last.
class Orientation {
 public:
  void read(Bytes segment) {
    constexpr std::string_view kExif = "Exif\0\0"sv, kXmp = "http://ns.adobe.com/xap/1.0/\0"sv;
    if (!has_exif_ && begins_with(segment, kExif)) {
      exif_ = exif_orientation(segment.subspan(kExif.size()));
      has_exif_ = true;
    } else if (begins_with(segment, kXmp)) {
      xmp_ = xmp_orientation(segment.subspan(kXmp.size()));
    }
  }
  std::uint8_t value() const { return exif_ ? *exif_ : xmp_.value_or(1); }

 private:
  static bool begins_with(Bytes segment, std::string_view name) {
    return segment.size() >= name.size() &&
           std::memcmp(segment.data(), name.data(), name.size()) == 0;
  }

  bool has_exif_ = false;
  std::optional<std::uint8_t> exif_, xmp_;
};

}  // namespace

std::optional<Fault> read_jpeg_header(ImageHeader& out, Bytes bytes) {
  out = {.codec = Codec::jpeg};
  bool have_frame = false;
  bool progressive = false;
  std::uint32_t components = 0;
  Orientation about;
  std::size_t at = 2;
  while (true) {
    // Like libjpeg, skips bytes before a marker, fill bytes and stuffed zeros.
    while (at < bytes.size() && u8(bytes, at) != 0xff) ++at;
    while (at < bytes.size() && u8(bytes, at) == 0xff) ++at;
    if (at >= bytes.size()) break;
    const std::size_t offset = at - 1;
    const std::uint32_t marker = u8(bytes, at++);
    if (marker == 0 || marker == 0x01 || (marker >= 0xd0 && marker <= 0xd7)) continue;
    if (marker == 0xd8 || marker == 0xd9) {
      return Fault{ErrorCode::image_header,
                   marker == 0xd8 ? "a second start of image" : "the image ends before its data",
                   offset};
    }
    if (marker == 0xda) {
      if (have_frame) {
        // A first scan without all components means more scans, as in a progressive image.
        const bool one_scan =
            !progressive && bytes.size() - at >= 3 && u8(bytes, at + 2) >= components;
        if (one_scan) out.held_bytes = 0;
        return std::nullopt;
      }
      return Fault{ErrorCode::image_header, "data come before the frame header", offset};
    }

    if (bytes.size() - at < 2) break;
    const std::size_t length = u16(bytes, at);
    if (length < 2) {
      return Fault{ErrorCode::image_header,
                   fmt::format("segment {:02x} says it has {} bytes", marker, length), offset};
    }
    if (bytes.size() - at < length) break;
    const Bytes segment = bytes.subspan(at + 2, length - 2);
    at += length;
    if (is_frame(marker)) {
      if (have_frame) return Fault{ErrorCode::image_header, "two frame headers", offset};
      if (auto fault = read_frame(out, segment, marker, offset)) return fault;
      have_frame = true;
      progressive = marker == 0xc2 || marker == 0xca;
      components = u8(segment, 5);
      out.held_bytes = coefficient_bytes(out, segment);
    } else if (marker == 0xe1) {
      about.read(segment);
      out.orientation = about.value();
    }
  }
  return Fault{ErrorCode::image_cut_off, "the file ends inside its header", bytes.size()};
}

}  // namespace tundish
