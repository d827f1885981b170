#include "data/source/formats/records/tf_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "codec/decode/decode.h"
#include "data/source/arrays/copy_bytes.h"
#include "data/source/field_names.h"
#include "data/source/format.h"
#include "data/source/formats/records/tf_class_names.h"
#include "data/source/names.h"

namespace tundish {
namespace {

std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Returns (values) for a feature, () for one value; (steps, values per step) for a feature list,
// without the second side if it is 1.
std::vector<std::uint64_t> shape_of(bool is_sequence, std::uint64_t steps, std::uint64_t values) {
  if (!is_sequence) return values == 1 ? std::vector<std::uint64_t>{} : std::vector{values};
  if (steps == 0 || values == steps) return {steps};
  return {steps, values / steps};
}

ArrayElement element_of(FeatureKind kind) {
  return kind == FeatureKind::floats ? ArrayElement::float32 : ArrayElement::int64;
}

Fault damaged(const std::string& feature, const std::string& reason, std::uint64_t offset) {
  return damaged_source("TFRecord", fmt::format("feature '{}' {}", printable(feature), reason),
                        offset);
}

Fault too_large(std::uint64_t bytes) {
  return {ErrorCode::image_too_large,
          fmt::format("{} bytes, at most {} are allowed", with_commas(bytes),
                      with_commas(Limits{}.max_bytes)),
          0};
}

const TfFeature* find_feature(const std::vector<TfFeature>& features, const std::string& name) {
  for (const TfFeature& feature : features) {
    if (feature.name == name) return &feature;
  }
  return nullptr;
}

std::string_view find_text(const std::vector<TfFeature>& features, std::string_view name) {
  const TfFeature* found = find_feature(features, std::string(name));
  const bool one = found && found->kind == FeatureKind::bytes && found->values == 1;
  return one ? text_of(found->first) : std::string_view();
}

constexpr int kOther = 0, kImage = 1, kLabel = 2;

}  // namespace

void TfSurvey::note(Seen& seen, const TfFeature& feature) {
  const bool first = seen.kind == FeatureKind::empty;
  if (feature.kind == FeatureKind::empty) {  // a list without values has no type
    seen.single = seen.same_shape = false;
    return;
  }
  seen.mixed = seen.mixed ||
               (!first && (seen.kind != feature.kind || seen.is_sequence != feature.is_sequence));
  seen.kind = feature.kind;
  seen.is_sequence = feature.is_sequence;
  seen.single = seen.single && feature.values == 1 && feature.steps == 1;
  if (first) {
    seen.steps = feature.steps;
    seen.values = feature.values;
  }
  seen.same_shape = seen.same_shape && seen.steps == feature.steps && seen.values == feature.values;
  seen.several = seen.several || feature.values > 1;
  seen.ragged = seen.ragged || feature.ragged;
  if (feature.kind != FeatureKind::bytes) return;
  seen.utf8 = seen.utf8 && is_utf8(text_of(feature.first));
  seen.image = seen.image && sniff(feature.first).has_value();
}

bool TfSurvey::Seen::is_array() const {
  return !mixed && !ragged && (kind == FeatureKind::floats || kind == FeatureKind::integers);
}

void TfSurvey::note_shape(Seen& seen, const TfFeature& feature, const std::vector<TfFeature>& all) {
  if (!seen.shaped || feature.values == 0) return;
  const TfFeature* sides = find_feature(all, std::string(feature.name) + kTfShapeEnding);
  auto shape = sides && !feature.is_sequence ? read_tf_shape(*sides, feature.values) : std::nullopt;
  seen.shaped = shape.has_value();
  if (!shape) return;
  if (seen.shape.empty()) seen.shape = *shape;
  seen.same_sides = seen.same_sides && seen.shape == *shape;
}

std::optional<Fault> TfSurvey::add(Bytes record) {
  if (auto fault = parse_tf_example(scratch_, record)) return fault;
  bool any_shape = false;
  for (const TfFeature& feature : scratch_) any_shape |= feature.name.ends_with(kTfShapeEnding);
  for (const TfFeature& feature : scratch_) {
    const std::string name(feature.name);
    if (features_.size() == kMaxFeatures && !features_.contains(name)) continue;
    Seen& seen = features_[name];
    note(seen, feature);
    if (any_shape) {
      note_shape(seen, feature, scratch_);
    } else {
      seen.shaped = seen.shaped && feature.values == 0;
    }
  }
  return std::nullopt;
}

std::set<std::string> TfLayout::find_descriptions(const TfSurvey& survey, const std::string& image,
                                                  const std::string& label) {
  constexpr std::array kUsual = {"image/format", "image/height", "image/width"};
  const auto has = [&](std::string_view name) {
    return survey.features_.contains(std::string(name));
  };
  if (image != kTfImage || !has(kTfFileName) || !std::all_of(kUsual.begin(), kUsual.end(), has)) {
    return {};
  }
  std::set<std::string> out(kUsual.begin(), kUsual.end());
  out.insert({"image/channels", "image/colorspace", std::string(kTfFileName)});
  if (label == kTfLabel) out.emplace(kTfClassText);
  return out;
}

std::optional<Fault> TfLayout::decide(const TfSurvey& survey, const SourceOptions& options,
                                      bool keep_descriptions) {
  std::vector<FieldCandidate> images, labels;
  for (const auto& [name, seen] : survey.features_) {
    const bool one_value = seen.single && !seen.mixed;
    const bool bytes = one_value && seen.kind == FeatureKind::bytes;
    images.push_back({name, bytes && (seen.image || name == options.image)});
    labels.push_back({name, one_value && seen.kind == FeatureKind::integers});
  }
  int image = -1, label = -1;
  if (auto fault = choose_field(image, FieldRole::image, options.image, images)) return fault;
  if (auto fault = choose_field(label, FieldRole::label, options.label, labels)) return fault;
  const std::string text = label < 0 ? no_label_warning(labels, image >= 0) : "";
  if (!text.empty()) warnings_.push_back(text);
  schema_.source = "tfrecord";
  const auto name_of = [](int at, const std::vector<FieldCandidate>& of) {
    return at < 0 ? std::string() : of[static_cast<std::size_t>(at)].name;
  };
  std::set<std::string> told;  // shapes of other features, and descriptions of the image
  if (!keep_descriptions) {
    told = find_descriptions(survey, name_of(image, images), name_of(label, labels));
  }
  int at = 0;
  for (const auto& [name, seen] : survey.features_) {
    if (at++ != label && seen.is_array() && seen.shaped) told.insert(name + kTfShapeEnding);
  }
  for (const int role : {kImage, kLabel, kOther}) {
    at = 0;
    for (const auto& [name, seen] : survey.features_) {
      const int here = at == image ? kImage : at == label ? kLabel : kOther;
      if (here == role && (role != kOther || !told.contains(name))) add_field(name, seen, role);
      ++at;
    }
  }
  return std::nullopt;
}

void TfLayout::add_field(const std::string& feature, const TfSurvey::Seen& seen, int role) {
  Field field{.name = feature};
  const auto leave_out = [&](const char* why) {
    warnings_.push_back(fmt::format("feature '{}' is left out: {}", printable(feature), why));
  };
  if (schema_.fields.size() == kMaxFields) return leave_out("there are over 64");
  if (seen.kind == FeatureKind::empty) return leave_out("it is empty in the first records");
  if (seen.mixed) return leave_out("its type differs between records");
  if (!is_utf8(feature) || feature.empty()) return leave_out("its name is empty or not UTF-8");
  if (role == kImage) {
    field = {.name = "image", .type = FieldType::image};
  } else if (role == kLabel) {
    field = {.name = "label", .type = FieldType::label};
  } else if (seen.kind == FeatureKind::bytes) {
    if (seen.several) return leave_out("it has several values of bytes in one record");
    field.type = seen.utf8 ? FieldType::text : FieldType::bytes;
  } else {
    if (seen.ragged) return leave_out("its steps differ in their numbers of values");
    field.type = FieldType::array;
    if (seen.same_shape && (!seen.shaped || seen.same_sides)) {
      field.array =
          ArrayType{element_of(seen.kind),
                    seen.shaped ? seen.shape : shape_of(seen.is_sequence, seen.steps, seen.values)};
    }
  }
  const auto taken = [&](const std::string& name) {
    for (const Field& other : schema_.fields) {
      if (other.name == name) return true;
    }
    return false;
  };
  while (taken(field.name)) field.name += "_feature";
  schema_.fields.push_back(std::move(field));
  parts_.push_back({feature, seen.kind, role == kOther && seen.is_array() && seen.shaped});
}

bool TfLayout::names_classes() const {
  const int label = schema_.find(FieldType::label);
  return label >= 0 && parts_[static_cast<std::size_t>(label)].feature == kTfLabel;
}

std::string TfLayout::text() const {
  std::string out;
  for (std::size_t f = 0; f < parts_.size(); ++f) {
    const Field& field = schema_.fields[f];
    out +=
        fmt::format("{}:{} {} {} {} {}{}\n", parts_[f].feature.size(), parts_[f].feature,
                    static_cast<int>(parts_[f].kind), field.name, field_type_name(field.type),
                    field.array ? array_text(*field.array) : "", parts_[f].shaped ? " shaped" : "");
  }
  return out;
}

std::optional<Fault> TfLayout::convert(std::vector<std::byte>* out, std::uint64_t& bytes,
                                       std::size_t f,
                                       const std::vector<TfFeature>& features) const {
  const Part& part = parts_[f];
  const TfFeature* feature = find_feature(features, part.feature);
  if (feature && feature->kind == FeatureKind::empty) feature = nullptr;
  if (feature && feature->kind != part.kind) {
    return damaged(part.feature,
                   fmt::format("is a {}, in the first records it is a {}",
                               feature_kind_name(feature->kind), feature_kind_name(part.kind)),
                   feature->offset);
  }
  return part.kind == FeatureKind::bytes ? convert_bytes(out, bytes, f, feature)
                                         : convert_array(out, bytes, f, feature, features);
}

std::optional<Fault> TfLayout::convert_bytes(std::vector<std::byte>* out, std::uint64_t& bytes,
                                             std::size_t f, const TfFeature* feature) const {
  const FieldType type = schema_.fields[f].type;
  const std::string& name = parts_[f].feature;
  if (!feature || feature->values == 0) {
    if (type == FieldType::image) return damaged(name, "is missing", 0);
    return std::nullopt;
  }
  if (feature->values > 1) return damaged(name, "has several values", feature->offset);
  if (type == FieldType::text && !is_utf8(text_of(feature->first))) {
    return damaged(name, "is not UTF-8, as in the first records", feature->offset);
  }
  bytes += feature->first.size();
  if (!out) return std::nullopt;
  out->clear();
  append_bytes(*out, feature->first);
  return std::nullopt;
}

std::optional<Fault> TfLayout::convert_array(std::vector<std::byte>* out, std::uint64_t& bytes,
                                             std::size_t f, const TfFeature* feature,
                                             const std::vector<TfFeature>& features) const {
  const std::optional<ArrayType>& fixed = schema_.fields[f].array;
  const std::string& name = parts_[f].feature;
  const std::uint64_t offset = feature ? feature->offset : 0;
  ArrayType here{element_of(parts_[f].kind), {0}};
  if (feature) here.shape = shape_of(feature->is_sequence, feature->steps, feature->values);
  if (feature && feature->ragged) {
    return damaged(name, "has steps that differ in their numbers of values", offset);
  }
  if (parts_[f].shaped) {
    const TfFeature* sides = find_feature(features, name + kTfShapeEnding);
    const std::uint64_t count = feature ? feature->values : 0;
    auto shape = sides ? read_tf_shape(*sides, count) : std::nullopt;
    if (!shape && feature)
      return damaged(name, "has no shape beside it that fits its values", offset);
    if (shape) here.shape = std::move(*shape);
  }
  if (fixed && here != *fixed) {
    return damaged(
        name,
        fmt::format("is {}, in the first records it is {}", array_text(here), array_text(*fixed)),
        offset);
  }
  if (!fixed && here.shape.empty()) here.shape = {1};  // as many sides as in other records
  const std::string head = fixed ? std::string() : npy_head(here);
  const std::uint64_t values = feature ? feature->values : 0;
  bytes += head.size() + values * element_bytes(here.element);
  if (!out) return std::nullopt;
  const Bytes text = std::as_bytes(std::span(head));
  out->assign(text.begin(), text.end());
  if (feature) append_values(*out, *feature);
  return std::nullopt;
}

std::optional<Fault> TfLayout::measure(std::int64_t& label, std::uint64_t& bytes, Bytes record,
                                       TfNames* names) const {
  std::vector<TfFeature> features;
  if (auto fault = parse_tf_example(features, record)) return fault;
  if (names) {
    names->class_text = names_classes() ? find_text(features, kTfClassText) : std::string_view();
    names->file_name = find_text(features, kTfFileName);
  }
  return measure(label, bytes, features);
}

std::optional<Fault> TfLayout::measure(std::int64_t& label, std::uint64_t& bytes,
                                       const std::vector<TfFeature>& features) const {
  label = -1;
  bytes = 0;
  for (std::size_t f = 0; f < parts_.size(); ++f) {
    if (schema_.fields[f].type != FieldType::label) {
      if (auto fault = convert(nullptr, bytes, f, features)) return fault;
      continue;
    }
    const TfFeature* feature = find_feature(features, parts_[f].feature);
    if (!feature || feature->kind == FeatureKind::empty) continue;
    if (feature->kind != FeatureKind::integers || feature->values != 1) {
      return damaged(parts_[f].feature, "is not one whole number", feature->offset);
    }
    std::vector<std::byte> value;
    append_values(value, *feature);
    label = load<std::int64_t>(value.data());
  }
  if (bytes > Limits{}.max_bytes) return too_large(bytes);
  return std::nullopt;
}

std::optional<Fault> TfLayout::read(Sample& out, std::int64_t& label, Bytes record,
                                    FieldSet fields) const {
  std::uint64_t bytes = 0;
  std::vector<TfFeature> features;
  if (auto fault = parse_tf_example(features, record)) return fault;
  if (auto fault = measure(label, bytes, features)) return fault;
  out.fields.resize(parts_.size());
  bytes = 0;
  for (std::size_t f = 0; f < parts_.size(); ++f) {
    out.fields[f].clear();
    if (schema_.fields[f].type == FieldType::label || (fields >> f & 1) == 0) continue;
    if (auto fault = convert(&out.fields[f], bytes, f, features)) return fault;
  }
  return std::nullopt;
}

}  // namespace tundish
