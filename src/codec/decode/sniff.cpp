// Detects every format that is likely in an image folder, by its first bytes.
#include <string_view>

#include "codec/decode/decode.h"

namespace tundish {
namespace {

using namespace std::string_view_literals;

struct Magic {
  std::size_t offset;
  std::string_view text;
  Codec codec;
};

constexpr Magic kMagics[] = {
    {0, "\xff\xd8\xff"sv, Codec::jpeg},
    {0, "\x89PNG\r\n\x1a\n"sv, Codec::png},
    {0, "\x93NUMPY"sv, Codec::npy},
    {0, "\xff\x4c"sv, Codec::lanes},
    {8, "WEBP"sv, Codec::webp},
    {0, "GIF87a"sv, Codec::gif},
    {0, "GIF89a"sv, Codec::gif},
    {0, "II*\0"sv, Codec::unknown},  // TIFF, and many raw formats of cameras
    {0, "MM\0*"sv, Codec::unknown},
    {0, "II+\0"sv, Codec::unknown},  // BigTIFF
    {0, "MM\0+"sv, Codec::unknown},
    {0, "\xff\x0a"sv, Codec::unknown},  // JPEG XL codestream
    {0, "\0\0\0\x0cJXL \r\n\x87\n"sv, Codec::unknown},
    {0, "\0\0\0\x0cjP  \r\n\x87\n"sv, Codec::unknown},  // JPEG 2000
    {0, "\xff\x4f\xff\x51"sv, Codec::unknown},          // JPEG 2000 codestream
    {0, "qoif"sv, Codec::unknown},
    {0, "8BPS"sv, Codec::unknown},  // Photoshop
    {0, "DDS "sv, Codec::unknown},
    {0, "\x76\x2f\x31\x01"sv, Codec::unknown},  // OpenEXR
    {0, "#?RADIANCE\n"sv, Codec::unknown},
    {0, "SIMPLE  ="sv, Codec::unknown},  // FITS
    {128, "DICM"sv, Codec::unknown},
    {0, "BPG\xfb"sv, Codec::unknown},
    {0, "\x8aMNG\r\n\x1a\n"sv, Codec::unknown},
};

std::string_view at(std::string_view text, std::size_t offset, std::size_t length) {
  return offset + length <= text.size() ? text.substr(offset, length) : std::string_view();
}

// True if the brand after "ftyp" of an ISO media file names a kind of still image.
bool is_heif(std::string_view text) {
  if (at(text, 4, 4) != "ftyp") return false;
  for (const auto brand : {"avif", "avis", "heic", "heix", "heim", "heis", "mif1", "msf1"}) {
    if (at(text, 8, 4) == brand) return true;
  }
  return false;
}

// True for "P6" and white space; text that merely starts with P and a digit continues differently.
bool is_netpbm(std::string_view text) {
  return text.size() >= 3 && text[0] == 'P' &&
         ((text[1] >= '1' && text[1] <= '7') || text[1] == 'F' || text[1] == 'f') &&
         (text[2] == '\n' || text[2] == ' ' || text[2] == '\t' || text[2] == '\r');
}

// "BM" alone is too short a signature: the size of the second header must also be a known one.
bool is_bmp(std::string_view text) {
  if (at(text, 0, 2) != "BM" || text.size() < 18) return false;
  const auto header = static_cast<unsigned char>(text[14]);
  return at(text, 15, 3) == "\0\0\0"sv &&
         (header == 12 || header == 16 || header == 40 || header == 52 || header == 56 ||
          header == 64 || header == 108 || header == 124);
}

// An icon or cursor with 1 to 255 pictures; the reserved byte of the first is 0.
bool is_ico(std::string_view text) {
  const std::string_view head = at(text, 0, 4);
  return (head == "\0\0\1\0"sv || head == "\0\0\2\0"sv) && text.size() >= 22 && text[4] != 0 &&
         text[5] == 0 && text[9] == 0;
}

}  // namespace

std::optional<Codec> sniff(Bytes bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (const Magic& magic : kMagics) {
    // One byte refuses most formats: salvage calls this at every offset of a damaged file.
    if (magic.offset >= text.size() || text[magic.offset] != magic.text[0]) continue;
    if (at(text, magic.offset, magic.text.size()) != magic.text) continue;
    if (magic.text == "WEBP" && at(text, 0, 4) != "RIFF") continue;
    return magic.codec;
  }
  if (is_bmp(text)) return Codec::bmp;
  if (is_heif(text) || is_netpbm(text) || is_ico(text)) return Codec::unknown;
  return std::nullopt;
}

}  // namespace tundish
