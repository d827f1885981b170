#include "data/source/formats/python/message.h"

#include <fmt/format.h>

#include <set>

#include "codec/decode/decode.h"
#include "data/source/unknown_count.h"

namespace tundish {
namespace {

constexpr std::uint32_t kMaxClasses = 1'000'000;

Fault wrong(std::string reason, std::uint64_t offset) {
  return {ErrorCode::worker_ended, "it sent no valid answer: " + std::move(reason), offset};
}

// Reads from the front; behind the end, returns zeros and records the failure.
class Cursor {
 public:
  explicit Cursor(Bytes bytes) : bytes_(bytes) {}
  bool ended_early() const { return short_; }
  std::uint64_t at() const { return at_; }
  std::uint64_t left() const { return bytes_.size() - at_; }

  Bytes take(std::uint64_t bytes) {
    if (bytes > left()) {
      short_ = true;
      at_ = bytes_.size();
      return {};
    }
    const Bytes out = bytes_.subspan(at_, bytes);
    at_ += bytes;
    return out;
  }

  template <std::integral T>
  T word() {
    const Bytes bytes = take(sizeof(T));
    return bytes.empty() ? T{} : load<T>(bytes.data());
  }

  std::string text() {
    const Bytes bytes = take(word<std::uint32_t>());
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

 private:
  Bytes bytes_;
  std::uint64_t at_ = 0;
  bool short_ = false;
};

std::optional<Fault> parse_array(ArrayType& out, Cursor& in) {
  const auto element = in.word<std::uint8_t>();
  const auto sides = in.word<std::uint8_t>();
  if (element >= kArrayElements || sides > kMaxArraySides) {
    return wrong("an array of an unknown type, or with too many sides", in.at());
  }
  out.element = static_cast<ArrayElement>(element);
  for (std::size_t side = 0; side < sides; ++side) out.shape.push_back(in.word<std::uint64_t>());
  const auto bytes = array_bytes(out);
  if (!bytes || *bytes > Limits{}.max_bytes) return wrong("an array is too large", in.at());
  return std::nullopt;
}

std::optional<Fault> parse_field(Field& out, Cursor& in) {
  out.name = in.text();
  const auto type = in.word<std::uint8_t>();
  const auto has_array = in.word<std::uint8_t>();
  if (in.ended_early() || out.name.empty()) return wrong("a field has no name", in.at());
  if (type > static_cast<std::uint8_t>(FieldType::array) || has_array > 1) {
    return wrong("a field has an unknown type", in.at());
  }
  out.type = static_cast<FieldType>(type);
  if (has_array == 0) return std::nullopt;
  if (out.type != FieldType::array) return wrong("a field that is no array has a shape", in.at());
  return parse_array(out.array.emplace(), in);
}

// Checks limits of a pack: at most one image and one label, and at least one field with bytes.
std::optional<Fault> check_fields(const Schema& schema, std::uint64_t offset) {
  std::set<std::string> names;
  int images = 0, labels = 0;
  for (const Field& field : schema.fields) {
    if (!names.insert(field.name).second) {
      return wrong(fmt::format("two fields are called '{}'", printable(field.name)), offset);
    }
    images += field.type == FieldType::image;
    labels += field.type == FieldType::label;
  }
  if (images > 1 || labels > 1) return wrong("several images or labels", offset);
  if (schema.fields.size() == static_cast<std::size_t>(labels)) {
    return wrong("there is no field beside the label", offset);
  }
  return std::nullopt;
}

// Returns the required bytes of the field; empty: any number.
std::optional<std::uint64_t> fixed_bytes(const Field& field) {
  if (field.type == FieldType::number) return 8;
  return field.array ? array_bytes(*field.array) : std::nullopt;
}

}  // namespace

std::optional<Fault> parse_answer_head(AnswerHead& out,
                                       const std::array<std::byte, kAnswerHeadBytes>& bytes) {
  if (load<std::uint32_t>(bytes.data()) != kAnswerMagic) return wrong("its mark is missing", 0);
  const auto kind = load<std::uint32_t>(bytes.data() + 4);
  if (kind > static_cast<std::uint32_t>(AnswerKind::failed)) return wrong("an unknown kind", 4);
  out.kind = static_cast<AnswerKind>(kind);
  out.payload_bytes = load<std::uint64_t>(bytes.data() + 8);
  if (out.payload_bytes <= kMaxAnswerBytes) return std::nullopt;
  return wrong(fmt::format("{} bytes, at most {} are allowed", with_commas(out.payload_bytes),
                           with_commas(kMaxAnswerBytes)),
               8);
}

std::optional<Fault> parse_description(PythonDescription& out, Bytes payload) {
  out = {};
  Cursor in(payload);
  out.random_access = in.word<std::uint8_t>() != 0;
  out.count = in.word<std::uint64_t>();
  out.identity = in.text();
  if (out.count > kMaxPythonSamples) return wrong("more than 50 million samples", 1);
  if (!out.random_access) out.count = kUnknownCount;
  const auto fields = in.word<std::uint32_t>();
  if (fields == 0 || fields > kMaxFields) return wrong("no fields, or more than 64", in.at());
  for (std::uint32_t f = 0; f < fields; ++f) {
    if (auto fault = parse_field(out.schema.fields.emplace_back(), in)) return fault;
  }
  const auto classes = in.word<std::uint32_t>();
  if (classes > kMaxClasses || classes > in.left() / 4) return wrong("too many classes", in.at());
  for (std::uint32_t c = 0; c < classes; ++c) out.schema.classes.push_back(in.text());
  if (in.ended_early()) return wrong("the description is cut off", in.at());
  if (in.left() > 0) return wrong("the description goes on behind its end", in.at());
  out.schema.source = "Python dataset";
  return check_fields(out.schema, in.at());
}

std::optional<Fault> parse_sample(Sample& out, std::int64_t& label, const Schema& schema,
                                  Bytes payload) {
  Cursor in(payload);
  label = -1;
  out.fields.resize(schema.fields.size());
  for (std::size_t f = 0; f < schema.fields.size(); ++f) {
    const Field& field = schema.fields[f];
    out.fields[f].clear();
    if (field.type == FieldType::label) {
      label = in.word<std::int64_t>();
      continue;
    }
    const auto bytes = in.word<std::uint64_t>();
    const std::uint64_t before = in.at();
    if (bytes > Limits{}.max_bytes || fixed_bytes(field).value_or(bytes) != bytes) {
      return wrong(
          fmt::format("field '{}' has {} bytes", printable(field.name), with_commas(bytes)),
          before);
    }
    const Bytes content = in.take(bytes);
    out.fields[f].assign(content.begin(), content.end());
  }
  if (in.ended_early()) return wrong("the sample is cut off", in.at());
  if (in.left() > 0) return wrong("the sample goes on behind its end", in.at());
  return std::nullopt;
}

}  // namespace tundish
