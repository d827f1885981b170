#include "data/pack/metadata.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "base/utf8.h"
#include "base/version.h"

namespace tundish {
namespace {

using Json = nlohmann::json;

constexpr std::array kFieldTypes = {FieldType::image, FieldType::label,  FieldType::text,
                                    FieldType::bytes, FieldType::number, FieldType::array};
constexpr std::size_t kMaxDepth = 16;

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

Fault damaged(std::string reason) {
  return Fault{ErrorCode::metadata_damaged, std::move(reason), 0};
}

// Parses the JSON without building a tree, so that hostile nesting costs no memory.
class Reader : public nlohmann::json_sax<Json> {
 public:
  explicit Reader(Schema& out) : out_(out) {}
  const std::string& reason() const { return reason_; }

  bool null() override { return value(); }
  bool boolean(bool is_true) override {
    if (!at({"schema", "fields", "*", "channels_first"})) return value();
    out_.fields.back().channels_first = is_true;
    return true;
  }
  bool number_integer(number_integer_t) override { return value(); }
  bool number_unsigned(number_unsigned_t number) override {
    if (!at({"schema", "fields", "*", "shape", "*"})) return value();
    if (shape_.size() == kMaxArraySides) return fail("an array has too many sides");
    shape_.push_back(number);
    return true;
  }
  bool number_float(number_float_t, const string_t&) override { return value(); }
  bool binary(binary_t&) override { return value(); }
  bool string(string_t& text) override {
    if (at({"schema", "classes", "*"})) return name_into(out_.classes.emplace_back(), text);
    if (at({"schema", "fields", "*", "name"})) return name_into(out_.fields.back().name, text);
    if (at({"provenance", "source"})) return name_into(out_.source, text);
    if (at({"schema", "fields", "*", "type"})) {
      for (const FieldType type : kFieldTypes) {
        if (text == field_type_name(type)) {
          out_.fields.back().type = type;
          typed_ = true;
          return true;
        }
      }
      return fail("a field has an unknown type");
    }
    if (at({"schema", "fields", "*", "dtype"})) {
      element_ = element_named(text);
      return element_ ? true : fail("an array has an unknown dtype");
    }
    return value();
  }

  bool start_object(std::size_t) override {
    if (at({"schema", "fields", "*"})) {
      if (out_.fields.size() == kMaxFields) return fail("there are too many fields");
      out_.fields.emplace_back();
      typed_ = has_shape_ = false;
      element_.reset();
      shape_.clear();
    } else if (!path_.empty() && !at({"schema"}) && !at({"provenance"}) && is_ours()) {
      return fail("an object is not allowed here");
    }
    return enter("");
  }
  bool key(string_t& name) override {
    if (path_.size() <= 2 && !seen_.insert({path_.size() == 2 ? path_[0] : "", name}).second) {
      return fail("a key occurs twice");
    }
    path_.back() = name;
    return true;
  }
  bool end_object() override {
    path_.pop_back();
    if (!at({"schema", "fields", "*"})) return true;
    Field& field = out_.fields.back();
    if (field.name.empty() || !typed_) return fail("a field has no name or no type");
    if (element_.has_value() != has_shape_) return fail("an array has no dtype or no shape");
    if (element_) field.array = ArrayType{*element_, shape_};
    return true;
  }
  bool start_array(std::size_t) override {
    if (at({"schema", "classes"})) {
      has_classes_ = true;
    } else if (at({"schema", "fields"})) {
      has_fields_ = true;
    } else if (at({"schema", "fields", "*", "shape"})) {
      has_shape_ = true;
    } else if (path_.empty() || is_ours()) {
      return fail("an array is not allowed here");
    }
    return enter("*");
  }
  bool end_array() override {
    path_.pop_back();
    return true;
  }
  bool parse_error(std::size_t at, const std::string&,
                   const nlohmann::detail::exception&) override {
    return fail(fmt::format("it is no JSON after byte {}", with_commas(at)));
  }

  bool complete() {
    return has_classes_ && has_fields_ ? true : fail("it has no fields or no classes");
  }

 private:
  // Returns true if the next value is at this path.
  bool at(std::initializer_list<std::string_view> path) const {
    return std::equal(path.begin(), path.end(), path_.begin(), path_.end());
  }
  // Returns true if the format prescribes the type of the value here.
  bool is_ours() const {
    return at({"schema"}) || at({"provenance"}) || at({"schema", "classes"}) ||
           at({"schema", "classes", "*"}) || at({"schema", "fields"}) ||
           at({"schema", "fields", "*"}) || at({"schema", "fields", "*", "name"}) ||
           at({"schema", "fields", "*", "type"}) || at({"schema", "fields", "*", "dtype"}) ||
           at({"schema", "fields", "*", "shape"}) || at({"schema", "fields", "*", "shape", "*"}) ||
           at({"schema", "fields", "*", "channels_first"}) || at({"provenance", "source"});
  }
  bool value() { return path_.empty() || is_ours() ? fail("a value has the wrong type") : true; }
  bool enter(const char* first) {
    if (path_.size() == kMaxDepth) return fail("it is nested too deeply");
    path_.emplace_back(first);
    return true;
  }
  bool name_into(std::string& out, const std::string& text) {
    auto bytes = unescape_name(text);
    if (!bytes) return fail("a name has a wrong escape");
    out = std::move(*bytes);
    return true;
  }
  bool fail(std::string reason) {
    if (reason_.empty()) reason_ = std::move(reason);
    return false;
  }

  Schema& out_;
  std::vector<std::string> path_;  // keys of the open objects, "*" for the open arrays
  std::set<std::pair<std::string, std::string>> seen_;
  bool has_classes_ = false, has_fields_ = false;
  bool typed_ = false, has_shape_ = false;  // for the field being read
  std::optional<ArrayElement> element_;
  std::vector<std::uint64_t> shape_;
  std::string reason_;
};

}  // namespace

// Written by hand, because a Json value whose destructor runs out of memory terminates the
// process.
std::string json_string(std::string_view text) {
  constexpr std::string_view kShort = "\"\\\b\f\n\r\t", kLetters = "\"\\bfnrt";
  std::string out = "\"";
  for (const char c : text) {
    if (const std::size_t at = kShort.find(c); at != std::string_view::npos) {
      out += '\\';
      out += kLetters[at];
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out += '"';
}

std::string escape_name(std::string_view bytes) {
  std::string out;
  while (!bytes.empty()) {
    const std::size_t length = utf8_length(bytes);
    if (length == 0) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(bytes[0]));
    } else if (bytes[0] == '\\') {
      out += "\\\\";
    } else {
      out += bytes.substr(0, length);
    }
    bytes.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

std::optional<std::string> unescape_name(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
    } else if (text.substr(i, 2) == "\\\\") {
      out += '\\';
      ++i;
    } else if (text.substr(i, 2) == "\\x" && text.size() - i >= 4 && hex_digit(text[i + 2]) >= 0 &&
               hex_digit(text[i + 3]) >= 0) {
      out += static_cast<char>(hex_digit(text[i + 2]) * 16 + hex_digit(text[i + 3]));
      i += 3;
    } else {
      return std::nullopt;
    }
  }
  // Every name has exactly one text: anything else could hide two equal names.
  if (escape_name(out) != text) return std::nullopt;
  return out;
}

std::string schema_json(const Schema& schema) {
  std::string out = R"({"classes":[)";
  for (const std::string& name : schema.classes) {
    if (&name != &schema.classes.front()) out += ',';
    out += json_string(escape_name(name));
  }
  out += R"(],"fields":[)";
  for (const Field& field : schema.fields) {
    if (&field != &schema.fields.front()) out += ',';
    std::string array;  // keys in order
    if (field.channels_first) array += R"("channels_first":true,)";
    if (field.array) array += fmt::format(R"("dtype":"{}",)", element_name(field.array->element));
    out += fmt::format(
        R"({{{}"name":{}{},"type":"{}"}})", array, json_string(escape_name(field.name)),
        field.array ? fmt::format(R"(,"shape":[{}])", fmt::join(field.array->shape, ",")) : "",
        field_type_name(field.type));
  }
  return out += "]}";
}

std::string metadata_json(const Schema& schema, const std::string& lanes,
                          const std::string& preprocess) {
  return fmt::format(R"({{"provenance":{{{}{}"source":{},"tundish":"{}"}},"schema":{}}})",
                     lanes.empty() ? "" : "\"lanes\":" + lanes + ",",
                     preprocess.empty() ? "" : "\"preprocess\":" + preprocess + ",",
                     json_string(escape_name(schema.source)), version(), schema_json(schema));
}

std::optional<Fault> parse_metadata(Schema& out, std::string_view json) {
  out = {};
  Reader reader(out);
  if (!Json::sax_parse(json, &reader) || !reader.complete()) return damaged(reader.reason());
  return check_schema(out);
}

std::optional<Fault> check_schema(const Schema& schema) {
  if (schema.fields.empty()) return damaged("there are no fields");
  if (schema.fields.size() > kMaxFields) return damaged("there are too many fields");
  std::set<std::string_view> names;
  int images = 0, labels = 0;
  for (const Field& field : schema.fields) {
    if (field.name.empty()) return damaged("a field has no name");
    if (!names.insert(field.name).second) {
      return damaged("two fields have the name " + printable(field.name));
    }
    if (field.array && field.type != FieldType::image && field.type != FieldType::array) {
      return damaged("the field " + printable(field.name) + " is no array, but has a shape");
    }
    if (field.array && !array_bytes(*field.array)) {
      return damaged("the arrays of " + printable(field.name) + " are too large");
    }
    if (field.channels_first && !(field.array && field.type == FieldType::image)) {
      return damaged("the field " + printable(field.name) + " is no image of one shape");
    }
    images += field.type == FieldType::image;
    labels += field.type == FieldType::label;
  }
  if (images > 1 || labels > 1) return damaged("there is more than one image or label");
  return std::nullopt;
}

}  // namespace tundish
