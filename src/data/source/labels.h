// Labels that come as text, from a column of a list or from the .cls files of a tar; names of
// classes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/source/string_table.h"

namespace tundish {

struct Schema;

struct Labels {
  std::vector<std::int64_t> values;
  std::vector<std::string> classes;  // empty when the labels are numbers
};

struct LabelFault {
  std::size_t sample;
  std::string reason;
};

// Names among numbers: "7", "3x". In a list both are names; in a tar the odd one is a damaged
// label.
enum class MixedLabels { names, refused };

// All numbers: they must be whole, and are taken as they are; -1 means no label, less is refused.
// Otherwise all are names: sorted as Python sorts them, numbered from 0. None may be empty.
std::optional<LabelFault> make_labels(Labels& out, const StringTable& texts,
                                      MixedLabels mixed = MixedLabels::names);

// A label as a number: "7", "7.0", "-1" for none. Empty when it is none of these.
std::optional<std::int64_t> parse_label(std::string_view text);

// Names of classes that come with their numbers.
class NumberedClasses {
 public:
  // Why it cannot be so; empty when it can.
  std::string add(std::int64_t number, std::string_view name);

  // Class 0, 1, ...; nothing when none was added. Why there is a gap; empty when there is none.
  std::string take(std::vector<std::string>& out);

 private:
  std::map<std::int64_t, std::string> names_;
};

// Sorted distinct names and the place of each text among them.
void number_names(Labels& out, const StringTable& texts);

// Whether somebody may have named the column of the labels so. In small letters.
bool may_mean_label(const std::string& name);

// What to do about a label that is no whole number, as the end of a reason; empty for others.
std::string label_advice(std::string_view label);

// The name of a label's class; empty when there is no class of that number.
std::string class_name(const Schema& schema, std::int64_t label);

// Names of classes inside a .tar archive, in a comment for the whole archive. Other programs pass
// over it; .cls files stay numbers, as WebDataset wants them. "tundish classes 3:cat,3:dog,": with
// lengths, so that names may hold any bytes.
std::string class_list_text(const std::vector<std::string>& classes);

// Any text; empty when it is no such list.
std::optional<std::vector<std::string>> read_class_list(std::string_view text);

}  // namespace tundish
