#include "decode/exif.h"

namespace tundish {
namespace {

constexpr std::uint32_t kOrientation = 0x0112;
constexpr std::size_t kEntryBytes = 12;  // tag, type, count, value

// Words of a TIFF structure in either byte order. Callers check the bounds.
class Words {
 public:
  Words(Bytes bytes, bool big) : bytes_(bytes), big_(big) {}

  std::uint32_t u8(std::size_t at) const { return std::to_integer<std::uint32_t>(bytes_[at]); }
  std::uint32_t u16(std::size_t at) const {
    return big_ ? u8(at) << 8 | u8(at + 1) : u8(at + 1) << 8 | u8(at);
  }
  std::uint32_t u32(std::size_t at) const {
    return big_ ? u16(at) << 16 | u16(at + 2) : u16(at + 2) << 16 | u16(at);
  }

 private:
  Bytes bytes_;
  bool big_;
};

}  // namespace

std::uint8_t exif_orientation(Bytes tiff) {
  if (tiff.size() < 8) return 1;
  const auto first = std::to_integer<char>(tiff[0]);
  if (first != std::to_integer<char>(tiff[1]) || (first != 'I' && first != 'M')) return 1;
  const Words words(tiff, first == 'M');
  if (words.u16(2) != 42) return 1;

  const std::size_t directory = words.u32(4);
  if (directory < 8 || directory > tiff.size() - 2) return 1;
  const std::size_t entries = words.u16(directory);
  for (std::size_t i = 0; i < entries; ++i) {
    const std::size_t at = directory + 2 + i * kEntryBytes;
    if (at + kEntryBytes > tiff.size()) return 1;
    if (words.u16(at) != kOrientation) continue;
    if (words.u32(at + 4) != 1) return 1;
    std::uint32_t value = 0;
    switch (words.u16(at + 2)) {
      case 1:
        value = words.u8(at + 8);
        break;
      case 3:
        value = words.u16(at + 8);
        break;
      case 4:
        value = words.u32(at + 8);
        break;
      default:
        break;
    }
    return value >= 1 && value <= 8 ? static_cast<std::uint8_t>(value) : 1;
  }
  return 1;
}

}  // namespace tundish
