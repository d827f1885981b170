// A filter of samples, written as a short text:
//
//   label=cat and width>=64        key~*.png        camera!="left and right"
//
// Clauses NAME OPERATOR VALUE, joined by "and". A value that contains " and ", or has blanks at its
// ends, must be quoted with " or '.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/source/source.h"

namespace tundish {

enum class Comparison : std::uint8_t {
  equal,
  unequal,
  matches,  // ~: a pattern as in data/source/views/glob.h
  differs,  // !~
  less,
  at_most,
  more,
  at_least
};

struct FilterClause {
  std::string name;
  Comparison comparison = Comparison::equal;
  std::string value;
  bool operator==(const FilterClause&) const = default;
};

// Parses any bytes: at least one clause, or a fault (argument) with the place in the text.
std::optional<Fault> parse_filter(std::vector<FilterClause>& out, std::string_view text);

// The clauses, bound to the samples of one source. Names: key, label, width, height, bytes, codec,
// and the text and number fields of the schema. A label is a class name or a number.
class SampleFilter {
 public:
  // Throws Error(argument) for a name that the source lacks, or for a value that fits no sample of
  // any dataset: width=wide, a class that does not exist.
  SampleFilter(const std::vector<FilterClause>& clauses, const Source& source);

  // Fields needed to evaluate the filter; 0: none.
  FieldSet needs() const { return needs_; }
  bool needs(const Source& source, std::uint64_t i) const;  // fields needed for sample i

  // Any thread. `sample`: the fields from needs(), or nullptr if needs() is 0. Also returns true
  // for an image whose width and height cannot be read: a later read reports its fault.
  bool takes(const Source& source, std::uint64_t i, const Sample* sample) const;

 private:
  enum class Kind : std::uint8_t { key, label, width, height, bytes, codec, text, number };
  struct Test {
    Kind kind;
    Comparison comparison;
    std::string text = {};
    double number = 0;
    std::vector<bool> classes = {};  // for a label by name: classes that fit
    std::size_t field = 0;           // for text and number
  };
  Test compile(const FilterClause& clause, const Source& source);
  void compile_label(Test& test, const FilterClause& clause, const Source& source);
  static bool fits(const Test& test, const Source& source, std::uint64_t i, const Sample* sample,
                   const SampleInfo& info);

  std::vector<Test> tests_;
  FieldSet needs_ = 0;
  bool needs_size_ = false, needs_bytes_ = false;
};

}  // namespace tundish
