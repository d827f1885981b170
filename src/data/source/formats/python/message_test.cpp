#include "data/source/formats/python/message.h"

#include <doctest/doctest.h>

#include "base/testing.h"
#include "data/source/formats/python/test_messages.h"
#include "data/source/unknown_count.h"

namespace tundish {
namespace {

std::string reason_of(const TestMessage& description) {
  PythonDescription out;
  const auto fault = parse_description(out, description.bytes());
  return fault ? fault->reason : "";
}

}  // namespace

TEST_CASE("a description comes back") {
  PythonDescription out;
  REQUIRE_FALSE(parse_description(out, test_description(7).bytes()));
  CHECK(out.random_access);
  CHECK(out.count == 7);
  CHECK(out.identity == "abc");
  CHECK(out.schema.source == "Python dataset");
  CHECK(out.schema.classes == std::vector<std::string>{"cat", "dog"});
  REQUIRE(out.schema.fields.size() == 4);
  CHECK(out.schema.fields[0] == Field{.name = "image", .type = FieldType::image});
  CHECK(out.schema.fields[1].type == FieldType::label);
  CHECK(out.schema.fields[2] == Field{.name = "box",
                                      .type = FieldType::array,
                                      .array = ArrayType{ArrayElement::float32, {2, 2}}});
  CHECK(out.schema.fields[3].type == FieldType::number);
}

TEST_CASE("the count of an iterator is not known") {
  PythonDescription out;
  REQUIRE_FALSE(parse_description(out, test_iterable().bytes()));
  CHECK_FALSE(out.random_access);
  CHECK(out.count == kUnknownCount);
}

TEST_CASE("descriptions that contradict themselves are faults") {
  const auto head = [](std::uint64_t count, std::uint32_t fields) {
    TestMessage out;
    out.word<std::uint8_t>(1).word(count).text("").word(fields);
    return out;
  };
  CHECK(reason_of(head(kMaxPythonSamples + 1, 1)).find("50 million") != std::string::npos);
  CHECK(reason_of(head(1, 0)).find("no fields") != std::string::npos);
  CHECK(reason_of(head(1, 65)).find("no fields, or more") != std::string::npos);
  TestMessage only_label = head(1, 1);
  only_label.field("label", FieldType::label).word<std::uint32_t>(0);
  CHECK(reason_of(only_label).find("no field beside the label") != std::string::npos);
  TestMessage twice = head(1, 2);
  twice.field("a", FieldType::text).field("a", FieldType::bytes).word<std::uint32_t>(0);
  CHECK(reason_of(twice).find("two fields are called 'a'") != std::string::npos);
  TestMessage images = head(1, 2);
  images.field("a", FieldType::image).field("b", FieldType::image).word<std::uint32_t>(0);
  CHECK(reason_of(images).find("several images") != std::string::npos);
  TestMessage huge = head(1, 1);
  huge.field("a", ArrayType{ArrayElement::float64, {1ull << 40, 1ull << 40}});
  CHECK(reason_of(huge).find("too large") != std::string::npos);
  TestMessage classes = head(1, 1);
  classes.field("a", FieldType::text).word<std::uint32_t>(900'000);
  CHECK(reason_of(classes).find("too many classes") != std::string::npos);
}

TEST_CASE("a description or sample that is cut off or too long is a fault") {
  const TestMessage description = test_description(7);
  PythonDescription about;
  for (std::size_t bytes = 0; bytes < description.bytes().size(); ++bytes) {
    CHECK(parse_description(about, Bytes(description.bytes()).first(bytes)));
  }
  TestMessage longer = description;
  CHECK(reason_of(longer.word<std::uint8_t>(0)).find("goes on") != std::string::npos);

  REQUIRE_FALSE(parse_description(about, description.bytes()));
  const TestMessage sample = test_sample("pixels", 5);
  Sample out;
  std::int64_t label = 0;
  REQUIRE_FALSE(parse_sample(out, label, about.schema, sample.bytes()));
  CHECK(label == 5);
  CHECK(out.fields[0] == bytes_of("pixels"));
  CHECK(out.fields[1].empty());
  CHECK(out.fields[2].size() == 16);
  for (std::size_t bytes = 0; bytes < sample.bytes().size(); ++bytes) {
    CHECK(parse_sample(out, label, about.schema, Bytes(sample.bytes()).first(bytes)));
  }
  TestMessage more = sample;
  more.word<std::uint8_t>(0);
  CHECK(parse_sample(out, label, about.schema, more.bytes()));
}

TEST_CASE("fields have the length that their type has, and no length is believed") {
  const Schema schema{.fields = {{"a", FieldType::number}}, .classes = {}, .source = ""};
  const auto code = [&](std::uint64_t length, std::size_t bytes) {
    TestMessage message;
    message.word(length).raw(std::string(bytes, 'x'));
    Sample out;
    std::int64_t label = 0;
    const auto fault = parse_sample(out, label, schema, message.bytes());
    return fault ? fault->code : ErrorCode::none;
  };
  CHECK(code(8, 8) == ErrorCode::none);
  CHECK(code(7, 7) == ErrorCode::worker_ended);
  CHECK(code(~std::uint64_t{0}, 8) == ErrorCode::worker_ended);
}

TEST_CASE("the head of an answer") {
  const auto parse = [](std::uint32_t magic, std::uint32_t kind, std::uint64_t payload) {
    std::array<std::byte, kAnswerHeadBytes> bytes;
    store(bytes.data(), magic);
    store(bytes.data() + 4, kind);
    store(bytes.data() + 8, payload);
    AnswerHead out;
    const auto fault = parse_answer_head(out, bytes);
    return fault ? -1 : static_cast<int>(out.kind);
  };
  CHECK(parse(kAnswerMagic, 3, 0) == 3);
  CHECK(parse(kAnswerMagic, 5, kMaxAnswerBytes) == 5);
  CHECK(parse(kAnswerMagic, 6, 0) == -1);
  CHECK(parse(kAnswerMagic, 0, kMaxAnswerBytes + 1) == -1);
  CHECK(parse(kAnswerMagic + 1, 0, 0) == -1);
}

}  // namespace tundish
