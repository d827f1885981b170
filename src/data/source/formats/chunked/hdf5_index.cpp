#include "data/source/formats/chunked/hdf5_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>

#include "data/source/format.h"

namespace tundish {
namespace {

constexpr std::string_view kMagic = "TNDHDF52";
constexpr const char* kName = "HDF5";
constexpr std::size_t kMaxArrays = 10'000;

template <std::integral T>
void put(std::vector<std::byte>& out, T value) {
  out.resize(out.size() + sizeof value);
  store(out.data() + out.size() - sizeof value, value);
}

// Reads from the front; behind the end, returns zeros and records the failure.
class Cursor {
 public:
  explicit Cursor(Bytes bytes) : left_(bytes) {}
  bool ended_early() const { return short_; }
  std::size_t left() const { return left_.size(); }

  Bytes take(std::size_t bytes) {
    if (bytes > left_.size()) {
      short_ = true;
      left_ = {};
      return {};
    }
    const Bytes out = left_.first(bytes);
    left_ = left_.subspan(bytes);
    return out;
  }

  template <std::integral T>
  T next() {
    const Bytes bytes = take(sizeof(T));
    return bytes.empty() ? T{} : load<T>(bytes.data());
  }

 private:
  Bytes left_;
  bool short_ = false;
};

Fault damaged(const char* reason) { return damaged_source(kName, reason, 0); }

std::optional<Fault> read_chunks(Hdf5Array& out, Cursor& in, std::uint64_t file_size) {
  const auto count = in.next<std::uint64_t>();
  if (count > in.left() / 28) return damaged("the list of chunks is cut off");
  std::uint64_t all = 1;
  for (const std::uint64_t side : chunk_counts(out.grid)) {
    if (side != 0 && all > (1ull << 40) / side) return damaged("too many chunks");
    all *= side;
  }
  out.chunks.reserve(count);
  for (std::uint64_t c = 0; c < count; ++c) {
    Hdf5Chunk chunk;
    chunk.number = in.next<std::uint64_t>();
    chunk.offset = in.next<std::uint64_t>();
    chunk.bytes = in.next<std::uint64_t>();
    chunk.mask = in.next<std::uint32_t>();
    if (chunk.bytes > file_size || chunk.offset > file_size - chunk.bytes) {
      return damaged_source(kName, "a chunk leads out of the file", chunk.offset);
    }
    if (chunk.number >= all || (c > 0 && chunk.number <= out.chunks.back().number)) {
      return damaged("the chunks are in disorder");
    }
    out.chunks.push_back(chunk);
  }
  return std::nullopt;
}

std::string take_text(Cursor& in) {
  const Bytes text = in.take(in.next<std::uint32_t>());
  return {reinterpret_cast<const char*>(text.data()), text.size()};
}

std::optional<Fault> read_array(Hdf5Array& out, Cursor& in, std::uint64_t file_size) {
  out.name = take_text(in);
  const auto element = in.next<std::uint8_t>();
  const auto kind = in.next<std::uint8_t>();
  const std::size_t axes = in.next<std::uint8_t>(), filters = in.next<std::uint8_t>();
  if (kind > 3 || element >= kArrayElements || axes > kMaxArraySides || filters > kMaxChunkSteps) {
    return damaged("the description has unknown types or too many axes or filters");
  }
  out.grid.element = static_cast<ArrayElement>(element);
  out.kind = static_cast<Hdf5Kind>(kind);
  for (auto* sides : {&out.grid.shape, &out.grid.chunk}) {
    for (std::size_t a = 0; a < axes; ++a) sides->push_back(in.next<std::uint64_t>());
  }
  for (std::size_t f = 0; f < filters; ++f) {
    const auto id = in.next<std::uint32_t>();
    out.filters.push_back({id, in.next<std::uint32_t>()});
  }
  const Bytes fill = in.take(element_bytes(out.grid.element));
  out.grid.fill.assign(fill.begin(), fill.end());
  if (in.ended_early()) return damaged("the description is cut off");
  if (auto fault = check_grid(out.grid)) {
    fault->reason = fmt::format("{}: {}: {}", kName, printable(out.name), fault->reason);
    return fault;
  }
  const auto& shape = out.grid.shape;
  if (out.kind >= Hdf5Kind::references &&
      (out.grid.element != ArrayElement::uint64 || shape.size() != 2 || shape[1] != 2)) {
    return damaged("references of another size");
  }
  return read_chunks(out, in, file_size);
}

}  // namespace

std::vector<std::byte> write_hdf5_index(const Hdf5Description& description) {
  std::vector<std::byte> out;
  const auto append = [&](Bytes bytes) {
    const std::size_t at = out.size();
    out.resize(at + bytes.size());
    std::copy(bytes.begin(), bytes.end(), out.begin() + static_cast<std::ptrdiff_t>(at));
  };
  const auto text = [](std::string_view words) { return std::as_bytes(std::span(words)); };
  const auto sized = [&](std::string_view words) {
    put(out, static_cast<std::uint32_t>(words.size()));
    append(text(words));
  };
  append(text(kMagic));
  put(out, static_cast<std::uint32_t>(description.arrays.size()));
  for (const Hdf5Array& array : description.arrays) {
    sized(array.name);
    put(out, static_cast<std::uint8_t>(array.grid.element));
    put(out, static_cast<std::uint8_t>(array.kind));
    put(out, static_cast<std::uint8_t>(array.grid.shape.size()));
    put(out, static_cast<std::uint8_t>(array.filters.size()));
    for (const std::uint64_t side : array.grid.shape) put(out, side);
    for (const std::uint64_t side : array.grid.chunk) put(out, side);
    for (const Hdf5Filter& filter : array.filters) {
      put(out, filter.id);
      put(out, filter.value);
    }
    append(array.grid.fill);
    put(out, std::uint64_t{array.chunks.size()});
    for (const Hdf5Chunk& chunk : array.chunks) {
      put(out, chunk.number);
      put(out, chunk.offset);
      put(out, chunk.bytes);
      put(out, chunk.mask);
    }
  }
  put(out, static_cast<std::uint32_t>(description.omissions.size()));
  for (const Hdf5Omission& omission : description.omissions) {
    sized(omission.name);
    sized(omission.reason);
    put(out, static_cast<std::uint8_t>(omission.is_elsewhere));
  }
  return out;
}

std::optional<Fault> read_hdf5_index(Hdf5Description& out, Bytes index, std::uint64_t file_size) {
  out = {};
  Cursor in(index);
  const Bytes magic = in.take(kMagic.size());
  if (std::string_view(reinterpret_cast<const char*>(magic.data()), magic.size()) != kMagic) {
    return damaged("this is no description of an HDF5 file");
  }
  const auto count = in.next<std::uint32_t>();
  if (count > kMaxArrays) return damaged("too many arrays");
  for (std::uint32_t a = 0; a < count; ++a) {
    if (auto fault = read_array(out.arrays.emplace_back(), in, file_size)) return fault;
  }
  const auto omissions = in.next<std::uint32_t>();
  if (omissions > kMaxArrays) return damaged("too many arrays");
  for (std::uint32_t o = 0; o < omissions && !in.ended_early(); ++o) {
    Hdf5Omission& omission = out.omissions.emplace_back();
    omission.name = take_text(in);
    omission.reason = take_text(in);
    omission.is_elsewhere = in.next<std::uint8_t>() != 0;
  }
  if (in.ended_early()) return damaged("the description is cut off");
  if (in.left() > 0) return damaged("the description goes on behind its end");
  return std::nullopt;
}

std::optional<Fault> hdf5_steps(std::vector<ChunkStep>& out, const Hdf5Array& array,
                                std::uint32_t mask) {
  static constexpr std::pair<std::uint32_t, ChunkCodec> kFilters[] = {
      {1, ChunkCodec::gzip},     {2, ChunkCodec::shuffle},   {3, ChunkCodec::fletcher32},
      {32000, ChunkCodec::lzf},  {32001, ChunkCodec::blosc}, {32004, ChunkCodec::lz4_hdf5},
      {32015, ChunkCodec::zstd}, {307, ChunkCodec::bzip2}};
  out.clear();
  const auto element = static_cast<std::uint32_t>(element_bytes(array.grid.element));
  if (array.kind == Hdf5Kind::big_endian && element > 1)
    out.push_back({ChunkCodec::swap_bytes, element});
  for (std::size_t f = 0; f < array.filters.size(); ++f) {
    if ((mask >> f & 1) != 0) continue;
    const auto known = std::find_if(std::begin(kFilters), std::end(kFilters), [&](const auto& one) {
      return one.first == array.filters[f].id;
    });
    if (known == std::end(kFilters)) {
      return unsupported_source(
          kName, fmt::format("{}: filter {}", printable(array.name), array.filters[f].id));
    }
    // Shuffle stores the element size that it used; a heap reference has an element of 16 bytes.
    const std::uint32_t given = array.filters[f].value;
    const bool shuffle = known->second == ChunkCodec::shuffle;
    out.push_back({known->second, shuffle && given > 0 ? given : element});
  }
  return std::nullopt;
}

}  // namespace tundish
