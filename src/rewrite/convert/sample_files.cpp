#include "rewrite/convert/sample_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "data/source/label_vector.h"
#include "data/source/names.h"
#include "rewrite/convert/image_ending.h"
#include "rewrite/convert/npy_elements.h"
#include "rewrite/convert/raw_image.h"

namespace tundish {
namespace {

bool is_list(const Schema& schema) { return schema.source == "csv" || schema.source == "tsv"; }

bool names_files(const Schema& schema) {
  return is_list(schema) || schema.source == "tar" || schema.source == "image folder";
}

std::size_t base_of(const std::string& name) { return name.rfind('/') + 1; }  // npos + 1 is 0

std::vector<std::byte> bytes_of(std::string_view text) {
  const Bytes bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::string_view ending_of(std::string_view name) { return name.substr(name.rfind('.') + 1); }

// Returns the ending that shows the content of a field, unless its name has such an ending.
const char* ending_for(const Field& field) {
  const std::string last = lower(ending_of(field.name));
  switch (field.type) {
    case FieldType::array:
      return last == "npy" ? "" : ".npy";
    case FieldType::text:
      return last == "txt" || last == "text" || last == "json" ? "" : ".txt";
    case FieldType::number:
      return ".txt";
    default:
      return "";
  }
}

// Returns a field's kind of file: "mask.npy" for "mask".
std::string kind_of(const Field& field) {
  std::string kind = field.name + ending_for(field);
  std::replace(kind.begin(), kind.end(), '/', '_');
  return kind;
}

}  // namespace

bool is_list_column(const Schema& schema, const Field& field) {
  return field.type == FieldType::number || (field.type == FieldType::text && is_list(schema)) ||
         (label_vector_field(schema) >= 0 && field.name == kLabelVectorField);
}

NameParts split_image_name(const std::string& name) {
  const std::size_t base = base_of(name);
  const std::size_t dot = name.rfind('.');
  const bool has_ending = dot != name.npos && dot >= base && has_image_ending(name);
  if (!has_ending && !lower(name).ends_with(".gif")) return {name, ""};
  return {name.substr(0, dot), name.substr(dot + 1)};
}

SampleFiles::SampleFiles(const Schema& schema, FileNames names)
    : schema_(schema), names_(names), image_(schema.find(FieldType::image)) {
  owned_.reserve(schema.fields.size() + 1);  // keeps views of its elements valid
}

std::string SampleFiles::image_name(const ConvertSample& sample, Bytes image) const {
  if (schema_.fields[static_cast<std::size_t>(image_)].array) {
    return sample.key.ends_with(".png") ? sample.key : sample.key + ".png";
  }
  // Adds endings to numbers of records; names of files are unchanged.
  const bool bare = sample.key.find('.', base_of(sample.key)) == sample.key.npos;
  return bare && !names_files(schema_) ? sample.key + image_ending(image) : sample.key;
}

// Returns the sample's name up to the first dot, then the kind.
std::string SampleFiles::other_name(const Field& field, const std::string& key) const {
  const std::size_t slash = key.rfind('/');
  const std::size_t dot = key.find('.', slash == key.npos ? 1 : slash + 2);
  const std::string kind = kind_of(field);
  // data/source/formats/tar/tar_index.cpp gives these a dot, to distinguish them from the image and
  // the label
  const bool has_dot = field.name == "." || field.name == ".image" || field.name == ".label";
  return fmt::format("{}{}{}", key.substr(0, dot), has_dot ? "" : ".", kind);
}

void SampleFiles::add_owned(std::string name, std::vector<std::byte> content) {
  owned_.push_back(std::move(content));
  files_.push_back({std::move(name), owned_.back()});
}

void SampleFiles::add_image(const ConvertSample& sample, const std::string& stem) {
  const auto f = static_cast<std::size_t>(image_);
  const Bytes bytes = sample.field(f);
  main_name_ = image_name(sample, bytes);
  if (!stem.empty()) {
    const std::string kind = schema_.source == "tar"
                                 ? main_name_.substr(main_name_.find('.', base_of(main_name_)) + 1)
                                 : split_image_name(main_name_).ending;
    const char* sniffed = image_ending(bytes);
    main_name_ = stem + (kind.empty() ? (*sniffed ? sniffed : ".img") : "." + kind);
  }
  if (!schema_.fields[f].array) {
    files_.push_back({main_name_, bytes});
    return;
  }
  std::vector<std::byte> png;
  raw_to_png(png, schema_.fields[f], bytes);
  add_owned(main_name_, std::move(png));
}

// Ignores case, because kinds in a tar are case-insensitive.
bool SampleFiles::is_taken(const std::string& name, const std::string& stem) const {
  const std::string small = lower(name);
  const bool labels = names_ == FileNames::of_archive && schema_.find(FieldType::label) >= 0;
  return (labels && small == lower(stem + ".cls")) ||
         std::any_of(files_.begin(), files_.end(),
                     [&](const SampleFile& file) { return lower(file.name) == small; });
}

void SampleFiles::add_other(const ConvertSample& sample, std::size_t f, const std::string& stem) {
  const Field& field = schema_.fields[f];
  const Bytes bytes = sample.field(f);
  if (bytes.empty()) return;  // the sample lacks this field
  std::string name = other_name(field, stem.empty() ? sample.key : stem);
  while (is_taken(name, stem)) name += '_';
  if (field.type == FieldType::number) {
    double number = 0;
    if (bytes.size() == sizeof number) std::memcpy(&number, bytes.data(), sizeof number);
    add_owned(std::move(name), bytes_of(fmt::format("{}", number)));
  } else if (field.array) {
    std::vector<std::byte> npy = bytes_of(npy_head(*field.array));
    npy.insert(npy.end(), bytes.begin(), bytes.end());
    add_owned(std::move(name), std::move(npy));
  } else {
    files_.push_back({std::move(name), bytes});
  }
}

const std::vector<SampleFile>& SampleFiles::of(const ConvertSample& sample,
                                               const std::string& stem) {
  files_.clear();
  owned_.clear();
  main_name_ = sample.key;
  for (std::size_t f = 0; f < schema_.fields.size(); ++f) {
    const Field& field = schema_.fields[f];
    if (field.type != FieldType::label) check_elements(field, sample, sample.field(f));
  }
  if (image_ >= 0) add_image(sample, stem);
  for (std::size_t f = 0; f < schema_.fields.size(); ++f) {
    const Field& field = schema_.fields[f];
    if (static_cast<int>(f) == image_) continue;
    if (field.type == FieldType::label) {
      if (names_ == FileNames::of_source) continue;
      add_owned(stem + ".cls", bytes_of(std::to_string(sample.info.label)));
    } else if (names_ == FileNames::of_archive || !is_list_column(schema_, field)) {
      add_other(sample, f, stem);
    }
  }
  return files_;
}

}  // namespace tundish
