#include "data/source/zip/zip_directory.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/interruption.h"
#include "data/source/format.h"

namespace tundish {
namespace {

constexpr std::uint32_t kEndMark = 0x06054b50, kEnd64Mark = 0x06064b50, kLocatorMark = 0x07064b50;
constexpr std::uint32_t kEntryMark = 0x02014b50, kLocalMark = 0x04034b50;
constexpr std::size_t kEndBytes = 22, kLocatorBytes = 20, kEnd64Bytes = 56, kEntryBytes = 46;
constexpr std::size_t kLocalBytes = 30;

template <class T>
T at(const std::vector<std::byte>& bytes, std::size_t offset) {
  return load<T>(&bytes[offset]);
}

struct Directory {
  std::uint64_t offset = 0, bytes = 0, members = 0;
};

class Reader {
 public:
  Reader(const ByteStore& store, const char* format) : store_(store), format_(format) {}

  std::optional<Fault> read(std::vector<ZipMember>& out) {
    Directory directory;
    if (auto fault = find_end(directory)) return fault;
    if (directory.members > kMaxZipMembers || directory.bytes > kMaxZipDirectory) {
      return unsupported_source(
          format_, fmt::format("an archive of {} members", with_commas(directory.members)));
    }
    if (!range_fits(directory.offset, directory.bytes, end_) ||
        directory.members > directory.bytes / kEntryBytes) {
      return damaged("the directory leaves the file", end_);
    }
    std::vector<std::byte> bytes(directory.bytes);
    store_.read_at(bytes, directory.offset);
    std::size_t from = 0;
    out.reserve(directory.members);
    for (std::uint64_t m = 0; m < directory.members; ++m) {
      if (m % 1024 == 0) check_stop(store_.path());
      ZipMember member;
      if (auto fault = read_entry(member, bytes, from, directory.offset)) return fault;
      if (auto fault = find_data(member, directory.offset)) return fault;
      out.push_back(std::move(member));
    }
    return check_members(out);
  }

 private:
  Fault damaged(const char* reason, std::uint64_t offset) const {
    return damaged_source(format_, std::string("zip: ") + reason, offset);
  }

  // Finds the last end record in the file whose comment extends to the end of the file.
  std::optional<Fault> find_end(Directory& out) {
    const std::uint64_t size = store_.size();
    const auto tail = static_cast<std::size_t>(std::min<std::uint64_t>(size, kEndBytes + 0xffff));
    std::vector<std::byte> bytes(tail);
    store_.read_at(bytes, size - tail);
    for (std::size_t i = tail < kEndBytes ? 0 : tail - kEndBytes + 1; i-- > 0;) {
      if (at<std::uint32_t>(bytes, i) != kEndMark) continue;
      if (at<std::uint16_t>(bytes, i + 20) != tail - i - kEndBytes) continue;
      end_ = size - tail + i;
      const auto disk = at<std::uint16_t>(bytes, i + 4);
      out.members = at<std::uint16_t>(bytes, i + 10);
      out.bytes = at<std::uint32_t>(bytes, i + 12);
      out.offset = at<std::uint32_t>(bytes, i + 16);
      if (out.members == 0xffff || out.bytes == 0xffffffff || out.offset == 0xffffffff) {
        return find_end64(out);
      }
      if (disk != 0) return unsupported_source(format_, "zip: an archive on several disks", end_);
      return std::nullopt;
    }
    return damaged("no end of the archive's directory; the file may be cut short", size);
  }

  // Without a zip64 record, the values are final.
  std::optional<Fault> find_end64(Directory& out) {
    if (end_ < kLocatorBytes) return std::nullopt;
    std::vector<std::byte> locator(kLocatorBytes);
    store_.read_at(locator, end_ - kLocatorBytes);
    if (at<std::uint32_t>(locator, 0) != kLocatorMark) return std::nullopt;
    const auto offset = at<std::uint64_t>(locator, 8);
    if (!range_fits(offset, kEnd64Bytes, end_ - kLocatorBytes)) {
      return damaged("the zip64 record leaves the file", end_ - kLocatorBytes);
    }
    std::vector<std::byte> bytes(kEnd64Bytes);
    store_.read_at(bytes, offset);
    if (at<std::uint32_t>(bytes, 0) != kEnd64Mark) {
      return damaged("no zip64 record where the file says", offset);
    }
    if (at<std::uint32_t>(bytes, 16) != 0) {
      return unsupported_source(format_, "zip: an archive on several disks", offset);
    }
    out = {at<std::uint64_t>(bytes, 48), at<std::uint64_t>(bytes, 40),
           at<std::uint64_t>(bytes, 32)};
    end_ = offset;
    return std::nullopt;
  }

  // Reads the next entry of the directory, whose bytes begin at `base` in the file.
  std::optional<Fault> read_entry(ZipMember& out, const std::vector<std::byte>& bytes,
                                  std::size_t& from, std::uint64_t base) const {
    const std::uint64_t here = base + from;
    if (bytes.size() - from < kEntryBytes || at<std::uint32_t>(bytes, from) != kEntryMark) {
      return damaged("no entry of the directory where one must be", here);
    }
    const auto flags = at<std::uint16_t>(bytes, from + 8);
    out.method = at<std::uint16_t>(bytes, from + 10);
    out.crc = at<std::uint32_t>(bytes, from + 16);
    out.packed = at<std::uint32_t>(bytes, from + 20);
    out.size = at<std::uint32_t>(bytes, from + 24);
    const std::size_t name = at<std::uint16_t>(bytes, from + 28);
    const std::size_t extra = at<std::uint16_t>(bytes, from + 30);
    const std::size_t comment = at<std::uint16_t>(bytes, from + 32);
    out.offset = at<std::uint32_t>(bytes, from + 42);
    if (bytes.size() - from - kEntryBytes < name + extra + comment) {
      return damaged("an entry leaves the directory", here);
    }
    const auto* text = reinterpret_cast<const char*>(bytes.data() + from + kEntryBytes);
    out.name.assign(text, name);
    if (flags & 0x2041) return unsupported_source(format_, "zip: encrypted members", here);
    const Bytes extras = Bytes(bytes).subspan(from + kEntryBytes + name, extra);
    if (!read_zip64(out, extras)) return damaged("a zip64 field is cut off", here);
    if (out.method != 0 && out.method != 8) {
      return unsupported_source(format_, fmt::format("zip: compression method {}", out.method),
                                here);
    }
    if (out.stored() && out.packed != out.size) return damaged("two sizes contradict", here);
    from += kEntryBytes + name + extra + comment;
    return std::nullopt;
  }

  // Replaces the values that do not fit into 32 bits.
  static bool read_zip64(ZipMember& out, Bytes extras) {
    while (extras.size() >= 4) {
      const auto id = load<std::uint16_t>(extras.data());
      const std::size_t bytes = load<std::uint16_t>(&extras[2]);
      if (bytes > extras.size() - 4) return true;  // padding of careless writers
      Bytes field = extras.subspan(4, bytes);
      extras = extras.subspan(4 + bytes);
      if (id != 1) continue;
      for (std::uint64_t* value : {&out.size, &out.packed, &out.offset}) {
        if (*value != 0xffffffff) continue;
        if (field.size() < 8) return false;
        *value = load<std::uint64_t>(field.data());
        field = field.subspan(8);
      }
    }
    return true;
  }

  // Finds the data behind the member's own header, which must match the directory.
  std::optional<Fault> find_data(ZipMember& member, std::uint64_t directory) {
    const std::uint64_t begin = member.offset;
    if (!range_fits(begin, kLocalBytes, directory)) {
      return damaged("a member leaves the file", begin);
    }
    std::vector<std::byte> head(kLocalBytes + member.name.size());
    if (!range_fits(begin, head.size(), directory)) {
      return damaged("a member leaves the file", begin);
    }
    store_.read_at(head, begin);
    const std::size_t name = at<std::uint16_t>(head, 26), extra = at<std::uint16_t>(head, 28);
    const std::string_view text(reinterpret_cast<const char*>(head.data()) + kLocalBytes,
                                member.name.size());
    if (at<std::uint32_t>(head, 0) != kLocalMark || name != member.name.size() ||
        text != member.name) {
      return damaged("a member's own header differs from the directory", begin);
    }
    member.offset = begin + kLocalBytes + name + extra;
    if (!range_fits(member.offset, member.packed, directory)) {
      return damaged("a member leaves the file", begin);
    }
    ranges_.push_back({begin, member.offset + member.packed});
    return std::nullopt;
  }

  // Overlaps would allow a small file to hold any number of large members.
  std::optional<Fault> check_members(const std::vector<ZipMember>& members) {
    std::sort(ranges_.begin(), ranges_.end());
    for (std::size_t i = 1; i < ranges_.size(); ++i) {
      if (ranges_[i].first < ranges_[i - 1].second) {
        return damaged("members overlap", ranges_[i].first);
      }
    }
    std::vector<std::string_view> names;
    names.reserve(members.size());
    for (const ZipMember& member : members) names.push_back(member.name);
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice == names.end()) return std::nullopt;
    return damaged_source(
        format_, fmt::format("zip: two members are called '{}'", printable(std::string(*twice))),
        0);
  }

  const ByteStore& store_;
  const char* format_;
  std::uint64_t end_ = 0;                                        // upper bound of the directory
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges_;  // members with their headers
};

}  // namespace

std::optional<Fault> read_zip_directory(std::vector<ZipMember>& out, const ByteStore& store,
                                        const char* format) {
  return Reader(store, format).read(out);
}

}  // namespace tundish
