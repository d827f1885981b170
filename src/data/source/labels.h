// Labels given as text, from a column of a list or from the .cls files of a tar; class
// names.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/source/string_table.h"

namespace tundish {

// Returns for every name how many equal names precede it: names of classes may repeat (ImageNet has
// two classes "crane"), and each is a separate class.
std::vector<std::size_t> count_earlier(const std::vector<std::string>& names);

struct Schema;

struct Labels {
  std::vector<std::int64_t> values;
  std::vector<std::string> classes;  // empty if the labels are numbers
};

struct LabelFault {
  std::size_t sample;
  std::string reason;
};

// How to treat names among numbers, such as "7", "3x". In a list both are names; in a tar "3x" is a
// damaged label.
enum class MixedLabels { names, refused };

// If all texts are numbers, they must be whole and are used unchanged; -1 means no label, less is
// refused. Otherwise all are names: sorted as Python sorts them, numbered from 0, never empty.
std::optional<LabelFault> make_labels(Labels& out, const StringTable& texts,
                                      MixedLabels mixed = MixedLabels::names);

// Parses a label: "7", "7.0", "-1" for none. Empty if the text is no such number.
std::optional<std::int64_t> parse_label(std::string_view text);

// Collects class names that come with their numbers.
class NumberedClasses {
 public:
  // Returns why the pair is invalid; empty if it is valid.
  std::string add(std::int64_t number, std::string_view name);

  // Gets the names of class 0, 1, ..., or none. Returns why there is a gap; empty without a gap.
  std::string take(std::vector<std::string>& out);

 private:
  std::map<std::int64_t, std::string> names_;
};

// Returns a warning if some names of classes are whole numbers and others are not, so that a number
// is not the number of its class; empty otherwise.
std::string renumbering_warning(const std::vector<std::string>& classes);

// Gets sorted distinct names and the index of each text among them.
void number_names(Labels& out, const StringTable& texts);

// Returns true if the name, in lower case, is likely meant for a column of labels.
bool may_mean_label(const std::string& name);

// Returns advice for a label that is no whole number, as the end of a reason; empty for others.
std::string label_advice(std::string_view label);

// Returns the name of a label's class; empty if no class has this number.
std::string class_name(const Schema& schema, std::int64_t label);

// Formats class names for a comment that applies to a whole .tar archive. Other programs ignore the
// comment, and .cls files stay numbers, as WebDataset expects. "tundish classes 3:cat,3:dog,": the
// lengths allow names with any bytes.
std::string class_list_text(const std::vector<std::string>& classes);

// Parses any text; empty if it is no such list.
std::optional<std::vector<std::string>> read_class_list(std::string_view text);

}  // namespace tundish
