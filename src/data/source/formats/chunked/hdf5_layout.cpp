#include "data/source/formats/chunked/hdf5_layout.h"

#include <algorithm>
#include <string_view>

#include "base/array_type.h"
#include "data/source/format.h"

namespace tundish {
namespace {

constexpr unsigned kExternalFiles = 7, kLayout = 8, kContinuation = 16;  // message types

// Part of an object header: messages of version 1 or 2.
struct Part {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

struct Message {
  unsigned type = 0;
  unsigned flags = 0;
  std::uint64_t offset = 0;  // file offset of the content
  Bytes content;
};

// Reads a message from the front; behind the end, returns zeros and records the failure.
class Fields {
 public:
  explicit Fields(Bytes bytes) : left_(bytes) {}
  bool ended_early() const { return short_; }
  std::size_t left() const { return left_.size(); }

  std::uint64_t next(std::size_t bytes) {
    if (bytes > left_.size()) {
      short_ = true;
      left_ = {};
      return 0;
    }
    const std::uint64_t out = load_sized(left_.data(), bytes);
    left_ = left_.subspan(bytes);
    return out;
  }
  void skip(std::size_t bytes) {
    short_ = short_ || bytes > left_.size();
    left_ = left_.subspan(std::min(bytes, left_.size()));
  }

 private:
  Bytes left_;
  bool short_ = false;
};

// Reads the sides of a chunk, the last of which is the size of an element.
std::optional<Fault> read_sides(Hdf5Layout& out, Fields& in, std::size_t sides, std::size_t bytes,
                                std::uint64_t at) {
  if (sides < 2 || sides > kMaxArraySides + 1 || bytes < 1 || bytes > 8) {
    return hdf5_damaged("a chunk has no or too many axes", at);
  }
  for (std::size_t s = 0; s < sides; ++s) out.chunk.push_back(in.next(bytes));
  out.element_bytes = out.chunk.back();
  out.chunk.pop_back();
  return std::nullopt;
}

// Reads a layout of version 1 or 2.
std::optional<Fault> read_old_layout(Hdf5Layout& out, Fields& in, std::uint64_t at) {
  const std::size_t sides = in.next(1);
  const std::uint64_t storage = in.next(1);
  in.skip(5);
  if (storage > 2) return hdf5_damaged("a dataset has an unknown storage", at);
  out.storage = static_cast<Hdf5Storage>(storage);
  if (out.storage != Hdf5Storage::compact) out.offset = in.next(8);
  if (out.storage == Hdf5Storage::chunked) return read_sides(out, in, sides, 4, at);
  in.skip(4 * sides);
  return std::nullopt;
}

std::optional<Fault> read_chunked_4(Hdf5Layout& out, Fields& in, std::uint64_t at) {
  const std::uint64_t flags = in.next(1);
  const std::size_t sides = in.next(1);
  const std::size_t side_bytes = in.next(1);
  if (auto fault = read_sides(out, in, sides, side_bytes, at)) return fault;
  out.edges_unfiltered = (flags & 1) != 0;
  const std::uint64_t kind = in.next(1);
  if (kind < 1 || kind > 5) return hdf5_damaged("a chunk index has an unknown type", at);
  out.index = static_cast<Hdf5IndexKind>(kind);
  if (out.index == Hdf5IndexKind::single_chunk && (flags & 2) != 0) {
    out.single_bytes = in.next(8);
    out.single_mask = static_cast<std::uint32_t>(in.next(4));
  }
  // The parameters of the other indexes are repeated in their headers.
  static constexpr std::size_t kParameters[] = {0, 0, 0, 1, 5, 6};
  in.skip(kParameters[kind]);
  out.offset = in.next(8);
  return std::nullopt;
}

std::optional<Fault> read_layout_message(Hdf5Layout& out, const Message& message) {
  const std::uint64_t at = message.offset;
  Fields in(message.content);
  const std::uint64_t version = in.next(1);
  std::optional<Fault> fault;
  if ((message.flags & 2) != 0 || version < 1 || version > 4) {
    return unsupported_source("HDF5", "a newer layout: write the file with libver='v110'", at);
  }
  if (version < 3) {
    fault = read_old_layout(out, in, at);
  } else {
    const std::uint64_t storage = in.next(1);
    if (storage > 3) return hdf5_damaged("a dataset has an unknown storage", at);
    out.storage = static_cast<Hdf5Storage>(storage);
    if (out.storage == Hdf5Storage::contiguous) out.offset = in.next(8);
    if (out.storage == Hdf5Storage::chunked && version == 4) fault = read_chunked_4(out, in, at);
    if (out.storage == Hdf5Storage::chunked && version == 3) {
      const std::size_t sides = in.next(1);
      out.offset = in.next(8);
      fault = read_sides(out, in, sides, 4, at);
    }
  }
  if (fault) return fault;
  if (out.storage == Hdf5Storage::compact) {
    out.bytes = in.next(version < 3 ? 4 : 2);
    out.offset = at + message.content.size() - in.left();
    in.skip(out.bytes);
  }
  if (in.ended_early()) return hdf5_damaged("the layout of a dataset is cut off", at);
  return std::nullopt;
}

class HeaderReader {
 public:
  HeaderReader(Hdf5Layout& out, Hdf5Blocks& blocks) : out_(out), blocks_(blocks) {}

  std::optional<Fault> read(std::uint64_t header) {
    std::vector<std::byte> start;
    if (auto fault = blocks_.read(start, header, 16)) return fault;
    const std::string_view signature(reinterpret_cast<const char*>(start.data()), 4);
    std::optional<Fault> fault;
    if (signature == "OHDR") {
      fault = start_2(start, header);
    } else if (start[0] == std::byte{1}) {
      parts_.push_back({header + 16, load<std::uint32_t>(start.data() + 8)});
    } else {
      fault = hdf5_damaged("there is no object header", header);
    }
    // Terminates, because each part is charged to the blocks.
    for (std::size_t p = 0; !fault && p < parts_.size(); ++p) fault = read_part(parts_[p]);
    if (fault) return fault;
    if (!found_) return hdf5_damaged("a dataset has no layout", header);
    return std::nullopt;
  }

 private:
  std::optional<Fault> start_2(const std::vector<std::byte>& start, std::uint64_t header) {
    version_ = std::to_integer<unsigned>(start[4]);
    const auto flags = std::to_integer<unsigned>(start[5]);
    if (version_ != 2) return hdf5_damaged("an object header has an unknown version", header);
    has_order_ = (flags & 4) != 0;
    const std::uint64_t fixed = 6 + ((flags & 0x20) != 0 ? 16 : 0) + ((flags & 0x10) != 0 ? 4 : 0);
    const std::size_t size_bytes = std::size_t{1} << (flags & 3);
    std::vector<std::byte> size;
    if (auto fault = blocks_.read(size, header + fixed, size_bytes)) return fault;
    parts_.push_back({header + fixed + size_bytes, load_sized(size.data(), size_bytes)});
    return std::nullopt;
  }

  std::optional<Fault> read_part(Part part) {
    std::vector<std::byte> bytes;
    if (auto fault = blocks_.read(bytes, part.offset, part.bytes)) return fault;
    const std::size_t head = version_ == 1 ? 8 : has_order_ ? 6 : 4;
    std::size_t at = 0;
    while (bytes.size() - at >= head) {
      const std::byte* from = bytes.data() + at;
      Message message;
      message.type = version_ == 1 ? load<std::uint16_t>(from) : load<std::uint8_t>(from);
      const std::size_t size = load<std::uint16_t>(from + (version_ == 1 ? 2 : 1));
      message.flags = load<std::uint8_t>(from + (version_ == 1 ? 4 : 3));
      at += head;
      if (size > bytes.size() - at) {
        return hdf5_damaged("a message of an object header is cut off", part.offset + at);
      }
      message.offset = part.offset + at;
      message.content = Bytes(bytes).subspan(at, size);
      at += size;
      if (auto fault = take(message)) return fault;
    }
    return std::nullopt;
  }

  std::optional<Fault> take(const Message& message) {
    if (message.type == kExternalFiles) out_.has_external_files = true;
    if (message.type == kLayout) {
      if (found_) return hdf5_damaged("a dataset has two layouts", message.offset);
      found_ = true;
      return read_layout_message(out_, message);
    }
    if (message.type != kContinuation) return std::nullopt;
    Fields in(message.content);
    Part part{in.next(8), in.next(8)};
    // Version 2 has a signature before the messages and a checksum behind them.
    if (in.ended_early() || (version_ == 2 && part.bytes < 8)) {
      return hdf5_damaged("a continuation of an object header is cut off", message.offset);
    }
    if (version_ == 2) {
      std::vector<std::byte> bytes;
      if (auto fault = blocks_.read_checked(bytes, part.offset, part.bytes, "OCHK")) return fault;
      part = {part.offset + 4, part.bytes - 8};
    }
    parts_.push_back(part);
    return std::nullopt;
  }

  Hdf5Layout& out_;
  Hdf5Blocks& blocks_;
  unsigned version_ = 1;
  bool has_order_ = false;  // messages of version 2 with a creation order
  bool found_ = false;
  std::vector<Part> parts_;
};

}  // namespace

std::optional<Fault> read_hdf5_layout(Hdf5Layout& out, Hdf5Blocks& blocks, std::uint64_t header) {
  out = {};
  return HeaderReader(out, blocks).read(header);
}

}  // namespace tundish
