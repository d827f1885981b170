#include "data/source/formats/pth/pth_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/interruption.h"
#include "data/source/format.h"
#include "data/source/zip/zip_directory.h"

namespace tundish {
namespace {

// 0x1950a86a20f9469cfc6c as encoded by pickle protocol 2 and later.
constexpr std::string_view kMagic("\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 10);

constexpr std::string_view kUntyped = "torch.storage.UntypedStorage";

[[noreturn]] void fail(const Fault& fault, const ByteStore& store) {
  throw Error(fault, {.file = store.path()});
}

[[noreturn]] void damaged(const ByteStore& store, const std::string& reason,
                          std::uint64_t offset = 0) {
  fail(damaged_source(kPthFormat, reason, offset), store);
}

void unpickle(PthFile& out, const ByteStore& store) {
  auto fault = out.pickle.read(out.pickle_bytes, kPthFormat);
  if (!fault) return;
  fault->offset += out.pickle_offset;
  fail(*fault, store);
}

// After torch.serialization.set_crc32_options(False), torch.save writes 0 for every checksum.
void find_missing_checksums(std::vector<ZipMember>& members) {
  const bool has_any = std::any_of(members.begin(), members.end(),
                                   [](const ZipMember& member) { return member.crc != 0; });
  for (ZipMember& member : members) member.has_crc = has_any;
}

// Reads NAME/data.pkl, NAME/data/KEY, NAME/byteorder.
void read_zip(PthFile& out, std::uint64_t& left) {
  const ByteStore& store = *out.store;
  std::vector<ZipMember> members;
  if (const auto fault = read_zip_directory(members, store, kPthFormat)) fail(*fault, store);
  find_missing_checksums(members);
  const auto main = std::find_if(members.begin(), members.end(), [](const ZipMember& member) {
    return member.name.ends_with("/data.pkl") &&
           member.name.find('/') == member.name.size() - sizeof "data.pkl";
  });
  if (main == members.end()) damaged(store, "the archive has no data.pkl");
  const std::string folder = main->name.substr(0, main->name.find('/') + 1);
  std::uint64_t room = std::min(left, kMaxPickleBytes);
  if (const auto fault = read_zip_member(out.pickle_bytes, store, *main, kPthFormat, room)) {
    fail(*fault, store);
  }
  out.pickle_store = out.store;
  out.pickle_offset = main->offset;
  if (!main->stored()) {
    out.pickle_store = std::make_shared<ByteStore>(out.pickle_bytes, store.path());
    out.pickle_offset = 0;
  }
  for (const ZipMember& member : members) {
    check_stop(store.path());
    const auto unpacked = [&] {
      std::vector<std::byte> bytes;
      if (const auto fault = read_zip_member(bytes, store, member, kPthFormat, left)) {
        fail(*fault, store);
      }
      return bytes;
    };
    if (member.name == folder + "byteorder" && member.size == 3) {
      const auto order = unpacked();
      out.big_endian = order[0] == std::byte{'b'};
    }
    if (!member.name.starts_with(folder + "data/")) continue;
    PthFile::Storage storage{out.store, member.offset, member.size};
    if (!member.stored()) {
      storage = {std::make_shared<ByteStore>(unpacked(), store.path()), 0, member.size};
    }
    out.storages.emplace(member.name.substr(folder.size() + 5), std::move(storage));
  }
  unpickle(out, store);
}

// Layout: a magic number, a version, facts about the machine, the object, the keys of its
// storages; then, for each key, the number of elements and the elements.
class Legacy {
 public:
  explicit Legacy(PthFile& out) : out_(out), store_(*out.store) {}

  void read() {
    // Most are small; if the bytes end early, read again with more.
    for (std::uint64_t bytes = 1 << 20;; bytes *= 16) {
      bytes = std::min({bytes, kMaxPickleBytes, store_.size()});
      out_.pickle_bytes.resize(bytes);
      store_.read_at(out_.pickle_bytes, 0);
      const std::optional<Fault> fault = read_pickles();
      if (!fault) break;
      if (bytes == store_.size() || fault->code == ErrorCode::format_unsupported) {
        fail(*fault, store_);
      }
      if (bytes == kMaxPickleBytes) {
        fail(unsupported_source(kPthFormat, "a pickle over 256 MiB", bytes), store_);
      }
    }
    out_.pickle_store = out_.store;
    out_.pickle_offset = object_at_;
    find_types();
    find_storages();
  }

 private:
  std::optional<Fault> next(Pickle& pickle, std::size_t& at) {
    auto fault = pickle.read(Bytes(out_.pickle_bytes).subspan(at), kPthFormat);
    if (fault) {
      fault->offset += at;
    } else {
      at += pickle.end();
    }
    return fault;
  }

  std::optional<Fault> read_pickles() {
    std::size_t at = 0;
    Pickle magic, version, machine;
    if (auto fault = next(magic, at)) return fault;
    if (magic.text(magic.root()) != kMagic) {
      return damaged_source(kPthFormat, "it does not begin with torch's magic number", 0);
    }
    if (auto fault = next(version, at)) return fault;
    if (!version.root().is(PickleKind::integer) || version.root().number != 1001) {
      return unsupported_source(kPthFormat, "a version other than 1001", at);
    }
    if (auto fault = next(machine, at)) return fault;
    const PickleValue* little = machine.find(machine.root(), "little_endian");
    out_.big_endian = little && little->is(PickleKind::boolean) && little->number == 0;
    object_at_ = at;
    if (auto fault = next(out_.pickle, at)) return fault;
    if (auto fault = next(keys_, at)) return fault;
    data_ = at;
    return std::nullopt;
  }

  // A storage's place depends on the sizes of earlier storages, and sizes depend on element types.
  void find_types() {
    for (const PickleValue& persistent : out_.pickle.persistents()) {
      const auto& id = out_.pickle.items(out_.pickle.items(persistent)[0]);
      if (id.size() < 5) continue;
      if (id.size() > 5 && !id[5].is(PickleKind::none)) {
        fail(unsupported_source(kPthFormat, "storages that are views of others", object_at_),
             store_);
      }
      const auto element = torch_element(out_.pickle.text(id[1]));
      const std::uint64_t width = out_.pickle.text(id[1]) == kUntyped ? 1
                                  : element                           ? element_bytes(*element)
                                                                      : 0;
      if (width > 0) widths_.emplace(out_.pickle.text(id[2]), width);
    }
  }

  void find_storages() {
    std::uint64_t at = data_;
    for (const PickleValue& value : keys_.items(keys_.root())) {
      check_stop(store_.path());
      const std::string key(keys_.text(value));
      const auto width = widths_.find(key);
      std::array<std::byte, 8> number;
      if (width == widths_.end() || out_.storages.contains(key)) {
        damaged(store_, "a storage has no tensor, or its key appears twice", at);
      }
      if (!range_fits(at, 8, store_.size())) damaged(store_, "the file ends in a storage", at);
      store_.read_at(number, at);
      at += 8;
      std::uint64_t bytes;
      if (__builtin_mul_overflow(load<std::uint64_t>(number.data()), width->second, &bytes) ||
          !range_fits(at, bytes, store_.size())) {
        damaged(store_, "the file ends in a storage", at);
      }
      out_.storages.emplace(key, PthFile::Storage{out_.store, at, bytes});
      at += bytes;
    }
  }

  PthFile& out_;
  const ByteStore& store_;
  Pickle keys_;
  std::size_t object_at_ = 0;
  std::uint64_t data_ = 0;                                 // offset of the first storage
  std::unordered_map<std::string, std::uint64_t> widths_;  // bytes per element, by key
};

}  // namespace

bool begins_as_legacy_pth(Bytes first) {
  const std::string_view text(reinterpret_cast<const char*>(first.data()), first.size());
  return text.starts_with('\x80') && text.substr(0, 32).find(kMagic) != std::string_view::npos;
}

void read_pth_file(PthFile& out, SharedStore store, std::uint64_t& left) {
  out.store = std::move(store);
  std::vector<std::byte> first(std::min<std::uint64_t>(out.store->size(), 512));
  out.store->read_at(first, 0);
  const std::string_view text(reinterpret_cast<const char*>(first.data()), first.size());
  if (begins_as_legacy_pth(first)) return Legacy(out).read();
  if (text.starts_with("PK\x03\x04")) return read_zip(out, left);
  if (text.size() > 262 && text.substr(257, 5) == "ustar") {
    fail(unsupported_source(kPthFormat,
                            "the tar form of torch before 0.1.10: load it and save it again"),
         *out.store);
  }
  damaged(*out.store, "it begins neither as an archive nor with torch's magic number");
}

std::optional<ArrayElement> torch_element(std::string_view name) {
  struct Row {
    std::string_view storage, type;
    ArrayElement element;
  };
  constexpr Row kRows[] = {
      {"torch.BoolStorage", "torch.bool", ArrayElement::boolean},
      {"torch.CharStorage", "torch.int8", ArrayElement::int8},
      {"torch.ByteStorage", "torch.uint8", ArrayElement::uint8},
      {"torch.ShortStorage", "torch.int16", ArrayElement::int16},
      {"", "torch.uint16", ArrayElement::uint16},
      {"torch.IntStorage", "torch.int32", ArrayElement::int32},
      {"", "torch.uint32", ArrayElement::uint32},
      {"torch.LongStorage", "torch.int64", ArrayElement::int64},
      {"", "torch.uint64", ArrayElement::uint64},
      {"torch.HalfStorage", "torch.float16", ArrayElement::float16},
      {"torch.BFloat16Storage", "torch.bfloat16", ArrayElement::bfloat16},
      {"torch.FloatStorage", "torch.float32", ArrayElement::float32},
      {"torch.DoubleStorage", "torch.float64", ArrayElement::float64},
  };
  for (const Row& row : kRows) {
    if (!name.empty() && (name == row.storage || name == row.type)) return row.element;
  }
  return std::nullopt;
}

}  // namespace tundish
