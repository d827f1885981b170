// For tests and fuzzers: messages as python/tundish/samples/messages.py writes them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "data/source/formats/python/message.h"
#include "data/source/memory_source.h"

namespace tundish {

class TestMessage {
 public:
  const std::vector<std::byte>& bytes() const { return bytes_; }

  template <std::integral T>
  TestMessage& word(T value) {
    bytes_.resize(bytes_.size() + sizeof value);
    store(bytes_.data() + bytes_.size() - sizeof value, value);
    return *this;
  }
  TestMessage& raw(std::string_view text) {
    const Bytes more = std::as_bytes(std::span(text));
    bytes_.insert(bytes_.end(), more.begin(), more.end());
    return *this;
  }
  TestMessage& text(std::string_view text) {
    return word(static_cast<std::uint32_t>(text.size())).raw(text);
  }
  TestMessage& field(std::string_view name, FieldType type) {
    return text(name).word(static_cast<std::uint8_t>(type)).word<std::uint8_t>(0);
  }
  TestMessage& field(std::string_view name, const ArrayType& type) {
    text(name).word(static_cast<std::uint8_t>(FieldType::array)).word<std::uint8_t>(1);
    word(static_cast<std::uint8_t>(type.element));
    word(static_cast<std::uint8_t>(type.shape.size()));
    for (const std::uint64_t side : type.shape) word(side);
    return *this;
  }

 private:
  std::vector<std::byte> bytes_;
};

// image, label, box: float32 (2, 2), weight
inline TestMessage test_fields(TestMessage out) {
  out.word<std::uint32_t>(4).field("image", FieldType::image).field("label", FieldType::label);
  out.field("box", ArrayType{ArrayElement::float32, {2, 2}}).field("weight", FieldType::number);
  return out.word<std::uint32_t>(2).text("cat").text("dog");
}

inline TestMessage test_description(std::uint64_t count) {
  TestMessage out;
  out.word<std::uint8_t>(1).word(count).text("abc");
  return test_fields(out);
}

inline TestMessage test_iterable() {
  TestMessage out;
  out.word<std::uint8_t>(0).word<std::uint64_t>(0).text("abc");
  return test_fields(out);
}

inline TestMessage test_sample(std::string_view image, std::int64_t label) {
  TestMessage out;
  out.word(std::uint64_t{image.size()}).raw(image).word(label);
  out.word<std::uint64_t>(16).raw(std::string(16, 'b'));
  return out.word<std::uint64_t>(8).raw(std::string(8, 'w'));
}

inline TestMessage test_answer(AnswerKind kind, const std::vector<std::byte>& payload) {
  TestMessage out;
  out.word(kAnswerMagic).word(static_cast<std::uint32_t>(kind));
  out.word(std::uint64_t{payload.size()});
  return out.raw({reinterpret_cast<const char*>(payload.data()), payload.size()});
}

}  // namespace tundish
