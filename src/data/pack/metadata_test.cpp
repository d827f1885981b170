#include "data/pack/metadata.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <random>

#include "base/testing.h"
#include "base/version.h"

namespace tundish {
namespace {

const Schema kSchema = {
    {{"image", FieldType::image}, {"label", FieldType::label}}, {"cat", "dog"}, "image folder"};

std::string parse_reason(const std::string& json) {
  Schema schema;
  const auto fault = parse_metadata(schema, json);
  if (!fault) return "fine";
  CHECK(fault->code == ErrorCode::metadata_damaged);
  return fault->reason;
}

std::string with_schema(const std::string& schema) { return R"({"schema":)" + schema + "}"; }

}  // namespace

TEST_CASE("the metadata are canonical JSON") {
  CHECK(schema_json(kSchema) ==
        R"({"classes":["cat","dog"],"fields":[{"name":"image","type":"image"},)"
        R"({"name":"label","type":"label"}]})");
  CHECK(metadata_json(kSchema) == R"({"provenance":{"source":"image folder","tundish":")" +
                                      std::string(version()) + R"("},"schema":)" +
                                      schema_json(kSchema) + "}");
}

TEST_CASE("every schema is the same after a round trip through JSON") {
  Schema schema = kSchema;
  schema.fields = {{"image", FieldType::image},  {"label", FieldType::label},
                   {"caption", FieldType::text}, {"raw", FieldType::bytes},
                   {"score", FieldType::number}, {"boxes", FieldType::array}};
  Schema back;
  CHECK_FALSE(parse_metadata(back, metadata_json(schema)));
  CHECK(back.fields == schema.fields);
  CHECK(back.classes == schema.classes);
  CHECK(back.source == schema.source);
}

TEST_CASE("names of any bytes survive, and each has one text only") {
  CHECK(escape_name("caf\xc3\xa9") == "caf\xc3\xa9");
  CHECK(escape_name("caf\xe9") == "caf\\xe9");
  CHECK(escape_name("a\\b") == "a\\\\b");
  CHECK(escape_name("\xed\xa0\x80") == "\\xed\\xa0\\x80");  // a lone surrogate is not UTF-8
  CHECK_FALSE(unescape_name("\\x61"));                      // which is "a"
  CHECK_FALSE(unescape_name("\\xe"));
  CHECK_FALSE(unescape_name("\\xE9"));
  CHECK_FALSE(unescape_name("\\"));

  const std::uint64_t seed = test_seed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  Schema schema = kSchema, back;
  schema.classes.clear();
  for (int round = 0; round < 2000; ++round) {
    std::string name;
    for (std::size_t left = random() % 9; left > 0; --left) {
      // Mostly bytes that are special in UTF-8, JSON or the escape.
      constexpr std::string_view kLikely("\\x4f\"/\n\0\xc3\xa9\xed\xa0\x80\xf0\x9f\xf4\x90", 17);
      name += random() % 4 ? kLikely[random() % kLikely.size()] : static_cast<char>(random());
    }
    schema.classes.push_back(name);
  }
  CHECK_FALSE(parse_metadata(back, metadata_json(schema)));
  CHECK(back.classes == schema.classes);
  // Reference implementation: another program with sorted keys and no spaces makes the same text.
  CHECK(nlohmann::json::parse(metadata_json(schema)).dump() == metadata_json(schema));
}

TEST_CASE("metadata that make no sense are refused with a reason") {
  CHECK(parse_reason("") == "it is no JSON after byte 1");
  CHECK(parse_reason("{}") == "it has no fields or no classes");
  CHECK(parse_reason("[]") == "an array is not allowed here");
  CHECK(parse_reason("7") == "a value has the wrong type");
  CHECK(parse_reason(with_schema(R"({"classes":[],"fields":[]})")) == "there are no fields");
  CHECK(parse_reason(with_schema(R"({"classes":[1],"fields":[]})")) ==
        "a value has the wrong type");
  CHECK(parse_reason(with_schema(R"({"classes":{},"fields":[]})")) ==
        "an object is not allowed here");
  CHECK(parse_reason(with_schema(R"({"classes":[],"fields":["image"]})")) ==
        "a value has the wrong type");
  CHECK(parse_reason(with_schema(R"({"classes":[],"fields":[{"name":"a"}]})")) ==
        "a field has no name or no type");
  CHECK(parse_reason(with_schema(R"({"classes":[],"fields":[{"name":"a","type":"soup"}]})")) ==
        "a field has an unknown type");
  CHECK(parse_reason(with_schema(R"({"classes":[],"classes":[],"fields":[]})")) ==
        "a key occurs twice");
  CHECK(parse_reason(with_schema(R"({"classes":["\\q"],"fields":[]})")) ==
        "a name has a wrong escape");
  CHECK(
      parse_reason(with_schema(
          R"({"classes":[],"fields":[{"name":"a","type":"image"},{"name":"a","type":"text"}]})")) ==
      "two fields have the name a");
  CHECK(
      parse_reason(with_schema(
          R"({"classes":[],"fields":[{"name":"a","type":"image"},{"name":"b","type":"image"}]})")) ==
      "there is more than one image or label");
  CHECK(parse_reason(metadata_json(kSchema) + "x").starts_with("it is no JSON"));
  CHECK(parse_reason(std::string(1000, '[')) == "an array is not allowed here");
  CHECK(parse_reason(R"({"later":)" + std::string(100'000, '[')) == "it is nested too deeply");
}

TEST_CASE("arrays of one shape come back with their type") {
  Schema schema, back;
  schema.fields = {{"image", FieldType::image, ArrayType{ArrayElement::uint8, {3, 32, 32}}, true},
                   {"x", FieldType::array, ArrayType{ArrayElement::float32, {}}},
                   {"y", FieldType::array}};
  CHECK_FALSE(parse_metadata(back, metadata_json(schema)));
  CHECK(back.fields == schema.fields);
  CHECK(nlohmann::json::parse(metadata_json(schema)).dump() == metadata_json(schema));

  const auto reason = [](const char* field) {
    return parse_reason(with_schema(fmt::format(R"({{"classes":[],"fields":[{}]}})", field)));
  };
  CHECK(reason(R"({"dtype":"uint8","name":"a","type":"array"})") ==
        "an array has no dtype or no shape");
  CHECK(reason(R"({"dtype":"uint9","name":"a","shape":[],"type":"array"})") ==
        "an array has an unknown dtype");
  CHECK(reason(R"({"dtype":"uint8","name":"a","shape":[-1],"type":"array"})") ==
        "a value has the wrong type");
  CHECK(reason(R"({"dtype":"uint8","name":"a","shape":[2],"type":"text"})") ==
        "the field a is no array, but has a shape");
  CHECK(reason(R"({"dtype":"int64","name":"a","shape":[4294967296,4294967296],"type":"array"})") ==
        "the arrays of a are too large");
  CHECK(reason(R"({"channels_first":true,"name":"a","type":"image"})") ==
        "the field a is no image of one shape");
  CHECK(reason(fmt::format(R"({{"dtype":"int8","name":"a","shape":[{}1],"type":"array"}})",
                           [] {
                             std::string sides;
                             for (int i = 0; i < 64; ++i) sides += "1,";
                             return sides;
                           }())
                   .c_str()) == "an array has too many sides");
}

TEST_CASE("keys of later versions are ignored") {
  Schema back;
  CHECK_FALSE(parse_metadata(
      back, R"({"later":{"a":[1,{"b":null}],"schema":2},"schema":{"x":[true],"classes":["cat"],)"
            R"("fields":[{"later":[1,2],"name":"image","type":"image"}]}})"));
  CHECK(back.classes == std::vector<std::string>{"cat"});
  CHECK(back.fields == std::vector<Field>{{"image", FieldType::image}});
}

}  // namespace tundish
