#include "source/arrays/stored_array_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "core/interruption.h"
#include "source/arrays/array_fields.h"

namespace tundish {
namespace {

class StoredArraySource : public Source {
 public:
  StoredArraySource(ArraySet set, const SourceOptions& options) : path_(set.path) {
    ArrayFields fields = choose_array_fields(set, options);
    schema_ = std::move(fields.schema);
    arrays_ = std::move(fields.arrays);
    count_ = fields.count;
    for (StoredArray& array : arrays_) gather_scattered(array, set.format, set.memory_left);
    memory_ = kMaxUnpackedBytes - set.memory_left;
    for (std::size_t f = 0; f < arrays_.size(); ++f) {
      if (schema_.fields[f].type == FieldType::label) read_labels(arrays_[f]);
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

  // Piece by piece in large reads where labels lie side by side, else one by one.
  void read_labels(const StoredArray& array) {
    const std::size_t width = element_bytes(array.type.element);
    constexpr std::uint64_t kAtOnce = 1 << 16;
    labels_.reserve(count_);
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
          add_label(array, &bytes[k * array.sample_step], i + k);
        }
        i += some;
      }
    }
  }

  void add_label(const StoredArray& array, std::byte* from, std::uint64_t i) {
    const std::size_t width = element_bytes(array.type.element);
    std::array<std::byte, 8> element;
    for (std::size_t b = 0; b < width; ++b) {
      element[b] = from[array.big_endian ? width - 1 - b : b];
    }
    const std::optional<std::int64_t> label =
        element_as_integer(array.type.element, element.data());
    if (!label || *label < -1) {
      throw Error(
          ErrorCode::label_unreadable,
          {.file = array.piece_of(i).store->path(), .record = i, .offset = array.offset_of(i)},
          label ? fmt::format("the label is {}", *label) : "the label is over 2^63 - 1");
    }
    labels_.push_back(*label);
  }

  std::string path_;
  Schema schema_;
  std::vector<StoredArray> arrays_;  // by field number
  std::uint64_t count_ = 0;
  std::vector<std::int64_t> labels_;  // empty: none
  SampleInfo info_;                   // of every sample, but for the label
  std::uint64_t bytes_ = 0;           // of every sample
  std::uint64_t memory_ = 0;
  std::vector<std::string> warnings_;
};

}  // namespace

std::shared_ptr<const Source> open_stored_arrays(ArraySet set, const SourceOptions& options) {
  return std::make_shared<StoredArraySource>(std::move(set), options);
}

}  // namespace tundish
