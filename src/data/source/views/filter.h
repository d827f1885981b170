// Which samples are wanted, as a short text:
//
//   label=cat and width>=64        key~*.png        camera!="left and right"
//
// Clauses NAME OPERATOR VALUE, joined by "and". A value with " and " in it, or with blanks at its
// ends, is put between quotes (" or ').
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
  matches,  // ~: a pattern as data/source/views/glob.h has it
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

// Any bytes: one clause at least, or a fault (argument) with the place in the text.
std::optional<Fault> parse_filter(std::vector<FilterClause>& out, std::string_view text);

// The clauses for the samples of one source. Names: key, label, width, height, bytes, codec, and
// the text and number fields of the schema. A label is a class name, or a number.
class Filter {
 public:
  // Throws Error(argument) for a name that the source has not, or a value that fits no sample of
  // any data set: width=wide, a class that does not exist.
  Filter(const std::vector<FilterClause>& clauses, const Source& source);

  // What must be read of a sample to judge it; 0: nothing.
  FieldSet needs() const { return needs_; }
  bool needs(const Source& source, std::uint64_t i) const;  // the same, for sample i

  // Any thread. `sample`: what needs() asks for, or nullptr when it asks for nothing. True also for
  // an image whose width and height cannot be read: whoever reads the sample names its fault.
  bool takes(const Source& source, std::uint64_t i, const Sample* sample) const;

 private:
  enum class Kind : std::uint8_t { key, label, width, height, bytes, codec, text, number };
  struct Test {
    Kind kind;
    Comparison comparison;
    std::string text = {};
    double number = 0;
    std::vector<bool> classes = {};  // of a label by name: which labels fit
    std::size_t field = 0;           // of text and number
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
