// Evaluates the clauses of a filter for samples.
#include "data/source/views/filter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "codec/decode/decode.h"
#include "data/source/labels.h"
#include "data/source/number.h"
#include "data/source/views/glob.h"

namespace tundish {
namespace {

constexpr std::size_t kNamesShown = 10;

bool is_pattern(Comparison comparison) {
  return comparison == Comparison::matches || comparison == Comparison::differs;
}
bool is_inverted(Comparison comparison) {
  return comparison == Comparison::unequal || comparison == Comparison::differs;
}
bool is_order(Comparison comparison) { return comparison >= Comparison::less; }

bool fits_text(Comparison comparison, std::string_view text, std::string_view value) {
  switch (comparison) {
    case Comparison::equal:
      return text == value;
    case Comparison::unequal:
      return text != value;
    case Comparison::matches:
      return matches_glob(value, text);
    default:
      return !matches_glob(value, text);
  }
}

bool fits_number(Comparison comparison, double number, double value) {
  switch (comparison) {
    case Comparison::equal:
      return number == value;
    case Comparison::unequal:
      return number != value;
    case Comparison::less:
      return number < value;
    case Comparison::at_most:
      return number <= value;
    case Comparison::more:
      return number > value;
    default:
      return number >= value;
  }
}

[[noreturn]] void refuse(const Source& source, std::string reason) {
  throw Error(ErrorCode::argument, {.file = source.path()}, std::move(reason));
}

// Refuses a number that could mean a class called "10", or class 10 in the order of the names.
void refuse_numbers_as_names(const Source& source) {
  const std::vector<std::string>& classes = source.schema().classes;
  for (std::size_t c = 0; c < classes.size(); ++c) {
    const std::optional<std::int64_t> number = parse_label(classes[c]);
    if (!number || *number == static_cast<std::int64_t>(c)) continue;
    refuse(source, fmt::format("filter: class {} is called '{}', so a number is unclear; choose by "
                               "names, as in label={} or label~[0-4]",
                               c, printable(classes[c]), printable(classes[c])));
  }
}

std::string some_of(const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < names.size() && i < kNamesShown; ++i) {
    out += (i == 0 ? "" : ", ") + printable(names[i]);
  }
  return names.size() > kNamesShown ? out + ", ..." : out;
}

double number_of(const FilterClause& clause, const Source& source) {
  if (is_pattern(clause.comparison)) {
    refuse(source, fmt::format("filter: '{}' is a number; ~ compares texts", clause.name));
  }
  if (const auto value = parse_number(clause.value)) return *value;
  refuse(source, fmt::format("filter: '{}' is compared with a number, not with '{}'", clause.name,
                             printable(clause.value)));
}

// Gets codec, width and height of an image from its bytes; 0 if they cannot be read.
void measure_image(SampleInfo& info, const Source& source, std::uint64_t i, const Sample& sample) {
  const auto field = static_cast<std::size_t>(source.schema().find(FieldType::image));
  ImageHeader header;
  Limits any_size;
  any_size.max_pixels = ~std::uint64_t{0};
  const bool raw = source.schema().fields[field].array.has_value();
  info.codec = raw ? Codec::raw : sniff(sample.fields[field]).value_or(Codec::unknown);
  // The bytes are the original bytes: a lanes record has become a JPEG again.
  const auto fault = raw ? source.read_header(header, i, sample.fields[field], any_size)
                         : read_header(header, sample.fields[field], any_size);
  if (fault) return;
  info.width = header.width;
  info.height = header.height;
}

}  // namespace

SampleFilter::SampleFilter(const std::vector<FilterClause>& clauses, const Source& source) {
  for (const FilterClause& clause : clauses) tests_.push_back(compile(clause, source));
}

SampleFilter::Test SampleFilter::compile(const FilterClause& clause, const Source& source) {
  Test test{.kind = Kind::key, .comparison = clause.comparison, .text = clause.value};
  const std::vector<Field>& fields = source.schema().fields;
  const int image = source.schema().find(FieldType::image);
  const auto of_image = [&](Kind kind) {
    if (image < 0) refuse(source, fmt::format("filter: no images, so no {}", clause.name));
    test.kind = kind;
  };
  if (clause.name == "width" || clause.name == "height") {
    of_image(clause.name == "width" ? Kind::width : Kind::height);
    needs_size_ = true;
  } else if (clause.name == "bytes") {
    test.kind = Kind::bytes;
    needs_bytes_ = !source.sizes_known();
    if (needs_bytes_) needs_ = kAllFields;
  } else if (clause.name == "codec") {
    of_image(Kind::codec);
    needs_size_ = true;
  } else if (clause.name == "label") {
    compile_label(test, clause, source);
    return test;
  } else if (clause.name != "key") {
    const auto found = std::find_if(fields.begin(), fields.end(), [&](const Field& field) {
      return field.name == clause.name &&
             (field.type == FieldType::text || field.type == FieldType::number);
    });
    if (found == fields.end()) {
      std::vector<std::string> names{"key", "label", "width", "height", "bytes", "codec"};
      for (const Field& field : fields) {
        const bool can = field.type == FieldType::text || field.type == FieldType::number;
        if (can) names.push_back(field.name);
      }
      refuse(source, fmt::format("filter: there is no '{}'; there are: {}", printable(clause.name),
                                 fmt::join(names, ", ")));
    }
    test.kind = found->type == FieldType::text ? Kind::text : Kind::number;
    test.field = static_cast<std::size_t>(found - fields.begin());
    needs_ |= FieldSet{1} << test.field;
  }
  if (needs_size_) needs_ |= FieldSet{1} << image;
  const bool text = test.kind == Kind::key || test.kind == Kind::text || test.kind == Kind::codec;
  if (text && is_order(clause.comparison)) {
    refuse(source, fmt::format("filter: '{}' is a text; < and > compare numbers", clause.name));
  }
  if (!text) test.number = number_of(clause, source);
  return test;
}

void SampleFilter::compile_label(Test& test, const FilterClause& clause, const Source& source) {
  const Schema& schema = source.schema();
  const int field = schema.find(FieldType::label);
  if (field < 0) refuse(source, "filter: the samples have no label");
  test.kind = Kind::label;
  // The label has no bytes, but reading the sample makes the label available.
  if (!source.labels_known()) needs_ |= FieldSet{1} << field;
  if (!is_order(clause.comparison)) {
    for (const std::string& name : schema.classes) {
      const bool pattern = is_pattern(clause.comparison);
      test.classes.push_back(pattern ? matches_glob(clause.value, name) : clause.value == name);
    }
    const bool any =
        std::find(test.classes.begin(), test.classes.end(), true) != test.classes.end();
    if (any) return;
    test.classes.clear();
    if (is_pattern(clause.comparison) || !parse_number(clause.value)) {
      refuse(source, schema.classes.empty()
                         ? fmt::format("filter: labels are numbers here, '{}' is none",
                                       printable(clause.value))
                         : fmt::format("filter: no class is called '{}'; there are: {}",
                                       printable(clause.value), some_of(schema.classes)));
    }
  }
  test.number = number_of(clause, source);
  if (is_order(clause.comparison) || test.number >= 0) refuse_numbers_as_names(source);
}

bool SampleFilter::needs(const Source& source, std::uint64_t i) const {
  if (needs_ == 0) return false;
  const int image = source.schema().find(FieldType::image);
  const FieldSet of_size = needs_size_ ? FieldSet{1} << image : 0;
  return (needs_ & ~of_size) != 0 || needs_bytes_ || source.info(i).width == 0;
}

bool SampleFilter::takes(const Source& source, std::uint64_t i, const Sample* sample) const {
  SampleInfo info = source.info(i);
  if (needs_size_ && info.width == 0 && sample) measure_image(info, source, i, *sample);
  return std::all_of(tests_.begin(), tests_.end(),
                     [&](const Test& test) { return fits(test, source, i, sample, info); });
}

bool SampleFilter::fits(const Test& test, const Source& source, std::uint64_t i,
                        const Sample* sample, const SampleInfo& info) {
  const auto number = [&](double value) {
    return fits_number(test.comparison, value, test.number);
  };
  const auto text = [&](std::string_view value) {
    return fits_text(test.comparison, value, test.text);
  };
  switch (test.kind) {
    case Kind::key:
      return text(source.key(i));
    case Kind::label: {
      const std::int64_t label = info.label;
      const bool inverted = is_inverted(test.comparison);
      const bool by_number = test.classes.empty();
      if (by_number && !is_order(test.comparison)) return number(static_cast<double>(label));
      if (label < 0) return inverted;  // a missing label is neither more nor less than a number
      if (by_number) return number(static_cast<double>(label));
      const auto place = static_cast<std::size_t>(label);
      return (place < test.classes.size() && test.classes[place]) != inverted;
    }
    case Kind::width:
      return info.width == 0 || number(info.width);
    case Kind::height:
      return info.height == 0 || number(info.height);
    case Kind::bytes: {
      std::uint64_t bytes = source.bytes(i);
      if (!source.sizes_known() && sample) {
        for (const auto& field : sample->fields) bytes += field.size();
      }
      return number(static_cast<double>(bytes));
    }
    case Kind::codec: {
      const bool fits = text(codec_name(info.codec));
      if (info.codec != Codec::lanes) return fits;
      // A lanes record is a re-coded JPEG: both codec names match.
      const bool as_jpeg = text(codec_name(Codec::jpeg));
      return is_inverted(test.comparison) ? fits && as_jpeg : fits || as_jpeg;
    }
    case Kind::text: {
      const auto& bytes = sample->fields[test.field];
      return text({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    }
    case Kind::number: {
      const auto& bytes = sample->fields[test.field];
      double value = 0;
      if (bytes.size() != sizeof value) return test.comparison == Comparison::unequal;
      std::memcpy(&value, bytes.data(), sizeof value);
      return number(value);
    }
  }
  return false;
}

}  // namespace tundish
