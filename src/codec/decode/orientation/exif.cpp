#include "codec/decode/orientation/exif.h"

#include <iterator>
#include <string_view>

namespace tundish {
namespace {

constexpr std::uint32_t kOrientation = 0x0112;
constexpr std::size_t kEntryBytes = 12;  // tag, type, count, value

// Reads integers of a TIFF structure in either byte order. Callers check the bounds.
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

std::uint8_t valid(std::uint32_t value) {
  return value >= 1 && value <= 8 ? static_cast<std::uint8_t>(value) : std::uint8_t{1};
}

// Returns the size of a value of this type; 0: Pillow ignores the entry.
std::uint64_t bytes_of_type(std::uint32_t type) {
  constexpr std::uint8_t kBytes[] = {0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4, 0, 0, 8};
  return type < std::size(kBytes) ? kBytes[type] : 0;
}

// Returns the first value of an entry. Like Pillow, does not accept bytes and text.
std::uint8_t value_at(const Words& words, std::uint32_t type, std::size_t at) {
  switch (type) {
    case 6:  // SBYTE
      return valid(words.u8(at));
    case 3:  // SHORT, SSHORT
    case 8:
      return valid(words.u16(at));
    case 4:  // LONG, SLONG, IFD
    case 9:
    case 13:
      return valid(words.u32(at));
    default:
      return 1;
  }
}

}  // namespace

std::optional<std::uint8_t> exif_orientation(Bytes tiff) {
  if (tiff.size() < 8) return std::nullopt;
  const auto first = std::to_integer<char>(tiff[0]);
  if (first != std::to_integer<char>(tiff[1]) || (first != 'I' && first != 'M')) {
    return std::nullopt;
  }
  const Words words(tiff, first == 'M');
  if (const auto magic = words.u16(2); magic != 42 && (first != 'M' || magic != 43)) {
    return std::nullopt;
  }

  const std::size_t directory = words.u32(4);
  if (directory < 8 || directory > tiff.size() - 2) return std::nullopt;
  const std::size_t entries = words.u16(directory);
  std::optional<std::uint8_t> found;
  for (std::size_t i = 0; i < entries; ++i) {
    const std::size_t at = directory + 2 + i * kEntryBytes;
    if (at + kEntryBytes > tiff.size()) break;
    const std::uint32_t type = words.u16(at + 2);
    const std::uint64_t size = bytes_of_type(type) * words.u32(at + 4);
    if (size == 0) continue;
    const std::uint64_t place = size > 4 ? words.u32(at + 8) : at + 8;
    if (place + size > tiff.size()) break;  // Pillow stops here
    if (words.u16(at) == kOrientation) {
      found = value_at(words, type, static_cast<std::size_t>(place));  // the last entry counts
    }
  }
  return found;
}

std::optional<std::uint8_t> xmp_orientation(Bytes packet) {
  constexpr std::string_view kName = "tiff:Orientation";
  std::string_view text(reinterpret_cast<const char*>(packet.data()), packet.size());
  for (std::size_t at = text.find(kName); at != text.npos; at = text.find(kName)) {
    text.remove_prefix(at + kName.size());
    const std::size_t mark = text.starts_with("=\"") ? 2 : text.starts_with(">") ? 1 : 0;
    if (mark == 0 || text.size() <= mark) continue;
    const char digit = text[mark];
    if (digit >= '0' && digit <= '9') return valid(static_cast<std::uint32_t>(digit - '0'));
  }
  return std::nullopt;
}

}  // namespace tundish
