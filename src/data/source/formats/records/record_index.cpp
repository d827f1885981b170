#include "data/source/formats/records/record_index.h"

#include <algorithm>
#include <span>

#include "data/source/names.h"

namespace tundish {
namespace {

constexpr std::uint32_t kVersion = 1;

template <class T>
void put(std::vector<std::byte>& out, std::span<const T> values) {
  const Bytes bytes = std::as_bytes(values);
  out.insert(out.end(), bytes.begin(), bytes.end());
}

void put(std::vector<std::byte>& out, std::uint64_t value) {
  put(out, std::span<const std::uint64_t>(&value, 1));
}

// Takes values from the front; returns false if too few bytes are left.
class Reader {
 public:
  explicit Reader(Bytes bytes) : left_(bytes) {}
  bool take(std::uint64_t& out) {
    if (left_.size() < 8) return false;
    out = load<std::uint64_t>(left_.data());
    left_ = left_.subspan(8);
    return true;
  }
  template <class T>
  bool take(std::vector<T>& out, std::uint64_t count) {
    if (count > left_.size() / sizeof(T)) return false;
    out.resize(count);
    const std::size_t bytes = count * sizeof(T);
    if (bytes > 0) std::memcpy(out.data(), left_.data(), bytes);
    left_ = left_.subspan(bytes);
    return true;
  }
  std::size_t left() const { return left_.size(); }

 private:
  Bytes left_;
};

bool inside(const RecordIndex& index, std::uint64_t file_size) {
  for (std::size_t i = 0; i < index.size(); ++i) {
    const std::uint64_t length = index.lengths[i] == RecordIndex::kTooLong ? 0 : index.lengths[i];
    if (index.offsets[i] > file_size || length > file_size - index.offsets[i]) return false;
  }
  return true;
}

}  // namespace

void RecordIndex::add(std::uint64_t offset, std::uint64_t length, std::int64_t label,
                      std::uint64_t read_bytes) {
  offsets.push_back(offset);
  lengths.push_back(static_cast<std::uint32_t>(std::min<std::uint64_t>(length, kTooLong)));
  labels.push_back(label);
  bytes.push_back(static_cast<std::uint32_t>(std::min<std::uint64_t>(read_bytes, kTooLong)));
}

std::vector<std::byte> encode_record_index(const std::string& settings, const RecordIndex& index) {
  std::vector<std::byte> out;
  put(out, std::uint64_t{settings.size()});
  put(out, std::span<const char>(settings));
  put(out, std::uint64_t{index.size()});
  put(out, std::span<const std::uint64_t>(index.offsets));
  put(out, std::span<const std::uint32_t>(index.lengths));
  put(out, std::span<const std::int64_t>(index.labels));
  put(out, std::span<const std::uint32_t>(index.bytes));
  put(out, std::uint64_t{index.note.size()});
  put(out, std::span<const char>(index.note));
  put(out, std::uint64_t{index.names.size()});
  for (std::size_t i = 0; i < index.names.size(); ++i) {
    put(out, std::uint64_t{index.names[i].size()});
    put(out, std::span<const char>(index.names[i]));
  }
  return out;
}

std::optional<RecordIndex> decode_record_index(Bytes bytes, const std::string& settings,
                                               std::uint64_t file_size) {
  Reader reader(bytes);
  RecordIndex out;
  std::vector<char> text;
  std::uint64_t count = 0, names = 0;
  const bool same = reader.take(count) && reader.take(text, count) &&
                    std::string_view(text.data(), text.size()) == settings;
  if (!same || !reader.take(count) || count > kMaxRecords) return std::nullopt;
  if (!reader.take(out.offsets, count) || !reader.take(out.lengths, count) ||
      !reader.take(out.labels, count) || !reader.take(out.bytes, count)) {
    return std::nullopt;
  }
  std::uint64_t note = 0;
  if (!reader.take(note) || !reader.take(text, note) || !reader.take(names)) return std::nullopt;
  out.note.assign(text.data(), text.size());
  if (names != 0 && names != count) return std::nullopt;
  for (std::uint64_t i = 0; i < names; ++i) {
    if (!reader.take(count) || !reader.take(text, count)) return std::nullopt;
    const std::string_view name(text.data(), text.size());
    if (!is_clean_key(name)) return std::nullopt;
    out.names.add(name);
  }
  if (reader.left() != 0 || !inside(out, file_size)) return std::nullopt;
  return out;
}

std::optional<RecordIndex> load_record_index(const IndexedFile& file) {
  const auto payload = load_side_index(file.path, file.stamp, file.format, kVersion);
  if (!payload) return std::nullopt;
  return decode_record_index(*payload, file.settings, file.stamp.size);
}

void save_record_index(const IndexedFile& file, const RecordIndex& index) noexcept {
  try {
    save_side_index(file.path, file.stamp, file.format, kVersion,
                    encode_record_index(file.settings, index));
  } catch (...) {  // no memory: the next opening scans the file
  }
}

}  // namespace tundish
