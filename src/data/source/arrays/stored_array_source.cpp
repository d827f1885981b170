#include "data/source/arrays/stored_array_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>

#include "base/interruption.h"
#include "data/source/arrays/array_fields.h"
#include "data/source/disk_cache/file_times.h"

namespace tundish {
namespace {

// Returns the stamps of all files with arrays: for images.npy also labels.npy.
std::string stamps_of(const std::vector<StoredArray>& arrays) {
  std::map<std::string, std::uint64_t> stamps;  // by path
  for (const StoredArray& array : arrays) {
    for (const StoredArray::Piece& piece : array.pieces) {
      const auto [found, is_new] = stamps.try_emplace(piece.store->path());
      if (is_new) found->second = piece.store->stamp();
    }
  }
  std::string out;
  for (const auto& [path, stamp] : stamps) out += fmt::format("{:016x} ", stamp);
  return out;
}

class StoredArraySource : public Source, public FileTimes {
 public:
  StoredArraySource(ArraySet set, const SourceOptions& options) : path_(set.path) {
    ArrayFields fields = choose_array_fields(set, options);
    schema_ = std::move(fields.schema);
    arrays_ = std::move(fields.arrays);
    count_ = fields.count;
    times_ = stamps_of(arrays_);
    for (StoredArray& array : arrays_) gather_scattered(array, set.format, set.memory_left);
    memory_ = kMaxUnpackedBytes - set.memory_left;
    for (std::size_t f = 0; f < arrays_.size(); ++f) {
      if (schema_.fields[f].type == FieldType::label) {
        read_labels(set, arrays_[f]);
      } else {
        check_classes(set, arrays_[f]);
      }
      bytes_ += stored_bytes(f);
      memory_ += arrays_[f].pieces.size() * sizeof(StoredArray::Piece);
    }
    if (const int image = schema_.find(FieldType::image); image >= 0) describe(image);
    for (const std::string& text : set.warnings) {
      warnings_.push_back(printable(path_) + ": " + text);
    }
  }

  std::uint64_t count() const override { return count_; }
  const Schema& schema() const override { return schema_; }
  SampleInfo info(std::uint64_t i) const override {
    SampleInfo info = info_;
    if (!labels_.empty()) info.label = labels_[i];
    return info;
  }
  std::string key(std::uint64_t i) const override { return fmt::format("{:08}", i); }
  std::string path() const override { return path_; }
  std::uint64_t bytes(std::uint64_t) const override { return bytes_; }
  std::uint64_t memory() const override { return memory_ + 8 * labels_.size(); }
  std::string file_times() const override { return times_; }
  const std::vector<std::string>& warnings() const override { return warnings_; }

  bool extent(std::uint64_t i, int field, Extent& out) const override {
    const auto f = static_cast<std::size_t>(field);
    const StoredArray& array = arrays_[f];
    const StoredArray::Piece& piece = array.piece_of(i);
    if (!schema_.fields[f].array || !array.plain() || piece.store->in_memory()) return false;
    out = {piece.store->path(), array.offset_of(i), array.sample_bytes()};
    return true;
  }

  void read(Sample& out, std::uint64_t i, FieldSet fields) const override {
    out.fields.resize(arrays_.size());
    for (std::size_t f = 0; f < arrays_.size(); ++f) {
      out.fields[f].clear();
      if ((fields >> f & 1) == 0 || schema_.fields[f].type == FieldType::label) continue;
      const StoredArray& array = arrays_[f];
      try {
        read_array(out.fields[f], array, i);
      } catch (const Error& error) {
        throw SampleError(error.code(),
                          {.file = array.piece_of(i).store->path(),
                           .record = i,
                           .key = key(i),
                           .offset = array.offset_of(i)},
                          error.reason());
      }
      if (schema_.fields[f].type == FieldType::number) make_number(out.fields[f], array.type);
    }
  }

 private:
  std::uint64_t stored_bytes(std::size_t field) const {
    const FieldType type = schema_.fields[field].type;
    if (type == FieldType::label) return 0;
    return type == FieldType::number ? sizeof(double) : arrays_[field].sample_bytes();
  }

  static void make_number(std::vector<std::byte>& bytes, const ArrayType& type) {
    const double value = element_as_double(type.element, bytes.data());
    bytes.resize(sizeof value);
    std::memcpy(bytes.data(), &value, sizeof value);
  }

  void describe(int image) {
    const Field& field = schema_.fields[static_cast<std::size_t>(image)];
    const std::size_t first = field.channels_first ? 1 : 0;
    info_.height = static_cast<std::uint32_t>(field.array->shape[first]);
    info_.width = static_cast<std::uint32_t>(field.array->shape[first + 1]);
    info_.codec = Codec::raw;
  }

  // Calls use(i, whole number) for the array's elements. Reads contiguous elements in large
  // pieces, and other elements one by one.
  template <class Use>
  void visit_elements(const StoredArray& array, Use use) const {
    const std::size_t width = element_bytes(array.type.element);
    constexpr std::uint64_t kAtOnce = 1 << 16;
    std::vector<std::byte> bytes;
    for (std::size_t p = 0; p < array.pieces.size(); ++p) {
      const std::uint64_t end =
          p + 1 < array.pieces.size() ? array.pieces[p + 1].first : array.count;
      for (std::uint64_t i = array.pieces[p].first; i < end;) {
        check_stop(path_);
        const std::uint64_t batch = array.sample_step <= 4 * width ? kAtOnce : 1;
        const std::uint64_t some = std::min(end - i, batch);
        bytes.resize((some - 1) * array.sample_step + width);
        array.pieces[p].store->read_at(bytes, array.offset_of(i));
        for (std::uint64_t k = 0; k < some; ++k) {
          use(i + k, whole_number(array, &bytes[k * array.sample_step]));
        }
        i += some;
      }
    }
  }

  static std::optional<std::int64_t> whole_number(const StoredArray& array, const std::byte* from) {
    const std::size_t width = element_bytes(array.type.element);
    std::array<std::byte, 8> element;
    for (std::size_t b = 0; b < width; ++b) {
      element[b] = from[array.big_endian ? width - 1 - b : b];
    }
    return element_as_integer(array.type.element, element.data());
  }

  static Where place_of(const StoredArray& array, std::uint64_t i) {
    const SharedStore& store = array.piece_of(i).store;
    Where where{.file = store->path(), .record = i};
    if (!store->in_memory()) where.offset = array.offset_of(i);
    return where;
  }

  void read_labels(const ArraySet& set, const StoredArray& array) {
    labels_.reserve(count_);
    visit_elements(array, [&](std::uint64_t i, std::optional<std::int64_t> label) {
      check_class(set, array, i, label);
      if (!label || *label < -1) {
        throw Error(ErrorCode::label_unreadable, place_of(array, i),
                    label ? fmt::format("the label is {}", *label) : "the label is over 2^63 - 1");
      }
      labels_.push_back(*label);
    });
  }

  // Checks a named-class array other than the label: each number must have a name.
  void check_classes(const ArraySet& set, const StoredArray& array) const {
    const auto same = [&](const ClassNames& classes) { return classes.array == array.name; };
    if (std::none_of(set.classes.begin(), set.classes.end(), same)) return;
    visit_elements(array, [&](std::uint64_t i, std::optional<std::int64_t> number) {
      check_class(set, array, i, number);
    });
  }

  static void check_class(const ArraySet& set, const StoredArray& array, std::uint64_t i,
                          std::optional<std::int64_t> number) {
    for (const ClassNames& classes : set.classes) {
      const auto count = static_cast<std::int64_t>(classes.names.size());
      if (classes.array != array.name || count == 0) continue;
      if (number && *number >= 0 && *number < count) return;
      const std::string found = number ? fmt::format("{}", *number) : "over 2^63 - 1";
      throw Error(ErrorCode::source_damaged, place_of(array, i),
                  fmt::format("{}: its {} is {}, but {} names the classes 0 to {}", set.format,
                              array.name, found, classes.from, count - 1));
    }
  }

  std::string path_;
  Schema schema_;
  std::vector<StoredArray> arrays_;  // by field number
  std::uint64_t count_ = 0;
  std::vector<std::int64_t> labels_;  // empty: no labels
  SampleInfo info_;                   // for every sample, except the label
  std::string times_;                 // stamps of the files when they were opened
  std::uint64_t bytes_ = 0;           // per sample
  std::uint64_t memory_ = 0;
  std::vector<std::string> warnings_;
};

}  // namespace

std::shared_ptr<const Source> open_stored_arrays(ArraySet set, const SourceOptions& options) {
  return std::make_shared<StoredArraySource>(std::move(set), options);
}

}  // namespace tundish
