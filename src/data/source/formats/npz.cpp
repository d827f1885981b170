#include "data/source/formats/npz.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/source/arrays/npy_layout.h"
#include "data/source/names.h"

namespace tundish {
namespace {

constexpr const char* kFormat = "NumPy .npz";

// Place of a member's bytes: part of the file, or memory.
struct Place {
  SharedStore store;
  std::uint64_t offset = 0, bytes = 0;
};

Place place_of(ArraySet& set, const SharedStore& store, const ZipMember& member) {
  if (member.stored()) return {store, member.offset, member.size};
  std::vector<std::byte> memory;
  if (const auto fault = read_zip_member(memory, *store, member, kFormat, set.memory_left)) {
    throw Error(*fault, {.file = store->path()});
  }
  const std::uint64_t bytes = memory.size();
  return {std::make_shared<ByteStore>(std::move(memory), store->path()), 0, bytes};
}

std::optional<Fault> read_member(StoredArray& out, const Place& place, std::int64_t axis) {
  std::vector<std::byte> first(std::min<std::uint64_t>(kMaxNpyHead, place.bytes));
  place.store->read_at(first, place.offset);
  ArrayLayout layout;
  std::size_t data = 0;
  auto fault = read_npy_layout(layout, data, first);
  if (fault) {
    fault->offset += place.offset;
    return fault;
  }
  const std::optional<std::uint64_t> bytes = array_bytes(layout.type);
  if (!bytes || *bytes != place.bytes - data) {
    return damaged_source(
        kFormat,
        fmt::format("'{}' has {} bytes of elements, which is not {}", printable(out.name),
                    with_commas(place.bytes - data), array_text(layout.type)),
        place.offset);
  }
  if (layout.type.shape.size() == 1) axis = 0;
  return place_array(out, kFormat, layout, place.store, place.offset + data, axis);
}

}  // namespace

bool looks_like_npz(const Probe& probe) {
  const std::string_view text = probe.text();
  if (!text.starts_with("PK\x03\x04") || text.size() < 30) return false;
  const std::size_t name = load<std::uint16_t>(&probe.first[26]);
  return lower(probe.path).ends_with(".npz") || text.substr(30).substr(0, name).ends_with(".npy");
}

void read_npz(ArraySet& set, const SharedStore& store, std::int64_t axis) {
  std::vector<ZipMember> members;
  if (const auto fault = read_zip_directory(members, *store, kFormat)) {
    throw Error(*fault, {.file = store->path()});
  }
  if (members.size() > kMaxArrays) {
    throw Error(unsupported_source(kFormat, fmt::format("over {} arrays", with_commas(kMaxArrays))),
                {.file = store->path()});
  }
  for (const ZipMember& member : members) {
    StoredArray array{.name = member.name};
    if (!array.name.ends_with(".npy")) {
      set.warnings.push_back(fmt::format("member '{}' is no array", printable(member.name)));
      continue;
    }
    array.name.resize(array.name.size() - 4);
    const std::optional<Fault> fault = read_member(array, place_of(set, store, member), axis);
    if (!fault) {
      set.arrays.push_back(std::move(array));
    } else if (fault->code == ErrorCode::format_unsupported) {
      set.warnings.push_back(
          fmt::format("'{}' is left out: {}", printable(array.name), fault->reason));
    } else {
      throw Error(*fault, {.file = store->path()});
    }
  }
}

std::shared_ptr<const Source> open_npz(const std::string& path, const SourceOptions& options) {
  ArraySet set{.path = path, .format = kFormat, .provenance = "npz"};
  read_npz(set, std::make_shared<ByteStore>(path), options.axis);
  return open_stored_arrays(std::move(set), options);
}

}  // namespace tundish
