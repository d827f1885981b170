#include "data/source/formats/records/tf_example.h"

#include <fmt/format.h>

#include <string>
#include <unordered_map>

#include "base/array_type.h"
#include "data/source/arrays/copy_bytes.h"
#include "data/source/format.h"
#include "data/source/formats/records/protobuf.h"

namespace tundish {
namespace {

std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Fault damaged(std::string reason, std::uint64_t offset) {
  return damaged_source("TFRecord", "no tf.train.Example: " + std::move(reason), offset);
}

std::optional<Fault> end_of(const ProtobufReader& reader) {
  if (reader.error()) return damaged(reader.error(), reader.offset());
  return std::nullopt;
}

std::optional<Fault> check_type(const WireField& field, const char* what) {
  if (field.type == WireType::bytes) return std::nullopt;
  return damaged(fmt::format("{} is a number", what), field.offset);
}

// Counts varints; returns false if the last one is truncated or any is too long.
bool count_varints(std::uint64_t& count, Bytes packed) {
  std::uint64_t value = 0;
  for (std::size_t at = 0; at < packed.size(); ++count) {
    if (!read_varint(value, packed, at)) return false;
  }
  return true;
}

// Counts the values of a BytesList, FloatList or Int64List.
std::optional<Fault> count_list(TfFeature& feature, const WireField& list) {
  ProtobufReader reader(list.bytes, list.offset);
  WireField field;
  while (reader.next(field)) {
    if (field.number != 1) continue;
    const bool packed = field.type == WireType::bytes;
    bool fits = true;
    if (feature.kind == FeatureKind::bytes) {
      fits = packed;
      if (feature.values++ == 0) {
        feature.first = field.bytes;
        feature.offset = field.offset;
      }
    } else if (feature.kind == FeatureKind::floats) {
      fits = packed ? field.bytes.size() % 4 == 0 : field.type == WireType::fixed32;
      feature.values += packed ? field.bytes.size() / 4 : 1;
    } else {
      fits = packed ? count_varints(feature.values, field.bytes) : field.type == WireType::varint;
      if (!packed) ++feature.values;
    }
    if (!fits) {
      return damaged(
          fmt::format("a value of a {} has another type", feature_kind_name(feature.kind)),
          field.offset);
    }
  }
  return end_of(reader);
}

// Counts the values of a Feature: one of three lists.
std::optional<Fault> count_feature(TfFeature& feature, Bytes message, std::uint64_t offset) {
  ProtobufReader reader(message, offset);
  WireField field;
  while (reader.next(field)) {
    if (field.number < 1 || field.number > 3) continue;
    if (auto fault = check_type(field, "a list of values")) return fault;
    const auto kind = static_cast<FeatureKind>(field.number);
    if (feature.kind != FeatureKind::empty && feature.kind != kind) {
      return damaged("a feature has values of two types", field.offset);
    }
    feature.kind = kind;
    if (auto fault = count_list(feature, field)) return fault;
  }
  return end_of(reader);
}

// Counts the steps of a FeatureList: a Feature per step.
std::optional<Fault> count_steps(TfFeature& feature, Bytes message, std::uint64_t offset) {
  feature.is_sequence = true;
  feature.steps = 0;
  std::uint64_t width = 0;
  ProtobufReader reader(message, offset);
  WireField field;
  while (reader.next(field)) {
    if (field.number != 1) continue;
    if (auto fault = check_type(field, "a step of a feature list")) return fault;
    const std::uint64_t before = feature.values;
    if (auto fault = count_feature(feature, field.bytes, field.offset)) return fault;
    if (feature.steps++ == 0) width = feature.values;
    feature.ragged = feature.ragged || feature.values - before != width;
  }
  return end_of(reader);
}

class ExampleParser {
 public:
  explicit ExampleParser(std::vector<TfFeature>& out) : out_(out) {}

  std::optional<Fault> parse(Bytes record) {
    ProtobufReader reader(record);
    WireField field;
    while (reader.next(field)) {
      if (field.number != 1 && field.number != 2) continue;
      if (auto fault = check_type(field, "its list of features")) return fault;
      if (auto fault = parse_map(field, field.number == 2)) return fault;
    }
    return end_of(reader);
  }

 private:
  // Parses Features or FeatureLists: a map, encoded as a repeated message of key and value.
  std::optional<Fault> parse_map(const WireField& map, bool sequences) {
    ProtobufReader reader(map.bytes, map.offset);
    WireField field;
    while (reader.next(field)) {
      if (field.number != 1) continue;
      if (auto fault = check_type(field, "a feature")) return fault;
      if (auto fault = parse_entry(field, sequences)) return fault;
    }
    return end_of(reader);
  }

  std::optional<Fault> parse_entry(const WireField& entry, bool is_sequence) {
    ProtobufReader reader(entry.bytes, entry.offset);
    WireField field;
    TfFeature feature;
    feature.offset = entry.offset;
    std::uint64_t value_offset = entry.offset;
    while (reader.next(field)) {
      if (field.number != 1 && field.number != 2) continue;
      if (auto fault = check_type(field, "a name or value of a feature")) return fault;
      if (field.number == 1) {
        feature.name = text_of(field.bytes);
      } else {
        feature.message = field.bytes;
        value_offset = feature.offset = field.offset;
      }
    }
    if (auto fault = end_of(reader)) return fault;
    if (auto fault = is_sequence ? count_steps(feature, feature.message, value_offset)
                                 : count_feature(feature, feature.message, value_offset)) {
      return fault;
    }
    return keep(feature);
  }

  std::optional<Fault> keep(const TfFeature& feature) {
    // A linear search is faster for the few features that records usually have.
    constexpr std::size_t kFew = 16;
    if (out_.size() < kFew) {
      for (TfFeature& other : out_) {
        if (other.name == feature.name) {
          other = feature;
          return std::nullopt;
        }
      }
    } else {
      for (; indexed_ < out_.size(); ++indexed_) places_[out_[indexed_].name] = indexed_;
      if (const auto found = places_.find(feature.name); found != places_.end()) {
        out_[found->second] = feature;
        return std::nullopt;
      }
    }
    if (out_.size() == kMaxFeatures) {
      return unsupported_source(
          "TFRecord", fmt::format("a record has over {} features", kMaxFeatures), feature.offset);
    }
    out_.push_back(feature);
    return std::nullopt;
  }

  std::vector<TfFeature>& out_;
  std::unordered_map<std::string_view, std::size_t> places_;  // filled only if there are many
  std::size_t indexed_ = 0;
};

template <class Value>
void append_value(std::vector<std::byte>& out, Value value) {
  std::byte bytes[sizeof value];
  store(bytes, value);
  append_bytes(out, bytes);
}

void append_list(std::vector<std::byte>& out, FeatureKind kind, Bytes list) {
  ProtobufReader reader(list);
  WireField field;
  while (reader.next(field)) {
    if (field.number != 1) continue;
    if (kind == FeatureKind::floats) {
      if (field.type == WireType::bytes) {
        append_bytes(out, field.bytes);
      } else {
        append_value(out, static_cast<std::uint32_t>(field.value));
      }
    } else if (field.type != WireType::bytes) {
      append_value(out, field.value);
    } else {
      std::uint64_t value = 0;
      for (std::size_t at = 0; at < field.bytes.size() && read_varint(value, field.bytes, at);) {
        append_value(out, value);
      }
    }
  }
}

void append_feature(std::vector<std::byte>& out, FeatureKind kind, Bytes feature) {
  ProtobufReader reader(feature);
  WireField field;
  while (reader.next(field)) {
    if (field.number == static_cast<std::uint32_t>(kind)) append_list(out, kind, field.bytes);
  }
}

}  // namespace

const char* feature_kind_name(FeatureKind kind) {
  switch (kind) {
    case FeatureKind::empty:
      return "empty list";
    case FeatureKind::bytes:
      return "bytes_list";
    case FeatureKind::floats:
      return "float_list";
    case FeatureKind::integers:
      return "int64_list";
  }
  return "list";
}

std::optional<Fault> parse_tf_example(std::vector<TfFeature>& out, Bytes record) {
  out.clear();
  return ExampleParser(out).parse(record);
}

void append_values(std::vector<std::byte>& out, const TfFeature& feature) {
  if (feature.kind != FeatureKind::floats && feature.kind != FeatureKind::integers) return;
  if (!feature.is_sequence) return append_feature(out, feature.kind, feature.message);
  ProtobufReader reader(feature.message);
  WireField step;
  while (reader.next(step)) {
    if (step.number == 1) append_feature(out, feature.kind, step.bytes);
  }
}

constexpr std::uint64_t kMaxEmptySide = 1u << 31;  // of an array without elements

std::optional<std::vector<std::uint64_t>> read_tf_shape(const TfFeature& feature,
                                                        std::uint64_t values) {
  if (feature.kind != FeatureKind::integers || feature.is_sequence) return std::nullopt;
  if (feature.values == 0 || feature.values > kMaxArraySides) return std::nullopt;
  std::vector<std::byte> bytes;
  append_values(bytes, feature);
  std::vector<std::uint64_t> shape;
  std::uint64_t product = 1;
  bool is_empty = false;  // a side is 0
  for (std::size_t at = 0; at + sizeof(std::int64_t) <= bytes.size(); at += sizeof(std::int64_t)) {
    const auto side = load<std::uint64_t>(&bytes[at]);  // a negative side exceeds any product
    is_empty |= side == 0;
    shape.push_back(side);
    if (values == 0 ? side > kMaxEmptySide : side == 0 || side > values / product) {
      return std::nullopt;
    }
    if (values > 0) product *= side;
  }
  if (values == 0 ? !is_empty : product != values) return std::nullopt;
  return shape;
}

}  // namespace tundish
