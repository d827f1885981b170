// Parses the text of a list: the roles of its columns, and the rows.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <unordered_set>

#include "base/interruption.h"
#include "data/source/formats/csv.h"
#include "data/source/formats/file_list.h"
#include "data/source/label_vector.h"
#include "data/source/labels.h"
#include "data/source/names.h"
#include "data/source/number.h"

namespace tundish {
namespace {

constexpr std::size_t kNone = ~std::size_t{0};
constexpr std::size_t kMaxColumns = 20'000;  // mostly parts of a label
constexpr std::string_view kVectorColumn = "label:";
constexpr const char* kOffsetColumn = "path:offset";
constexpr const char* kBytesColumn = "path:bytes";

constexpr std::string_view kBlanks = " \t";

Fault row_fault(const CsvRow& row, const std::string& column, const std::string& reason) {
  return {ErrorCode::csv_damaged,
          fmt::format("line {}, column '{}': {}", row.line, printable(column), reason), row.offset};
}

// The roles of the columns in the header.
struct Head {
  std::vector<std::string> names;
  std::size_t path = kNone;
  std::size_t label = kNone;
  std::size_t number = kNone;                 // number of the label whose name is in `label`
  std::size_t offset = kNone, bytes = kNone;  // both or none
  std::vector<std::size_t> vector = {};       // columns of a vector label
  std::vector<std::string> classes = {};      // class names of these columns
  std::vector<std::size_t> others = {};       // each becomes a field
};

std::size_t find_column(const Head& head, std::initializer_list<const char*> wanted) {
  for (const char* name : wanted) {
    for (std::size_t c = 0; c < head.names.size(); ++c) {
      if (lower(head.names[c]) == name) return c;
    }
  }
  return kNone;
}

// Finds the columns of a vector, and all remaining columns.
std::optional<Fault> find_vector(Head& out, const CsvRow& row) {
  std::unordered_set<std::string_view> seen;
  out.classes.reserve(out.names.size());  // `seen` keeps views of the names
  for (std::size_t c = 0; c < out.names.size(); ++c) {
    const std::string& name = out.names[c];
    if (c == out.path || c == out.label || c == out.number || c == out.offset || c == out.bytes) {
      continue;
    }
    if (!lower(name).starts_with(kVectorColumn)) {
      out.others.push_back(c);
      continue;
    }
    if (out.label != kNone) {
      return row_fault(
          row, name,
          fmt::format("column '{}' already is the label", printable(out.names[out.label])));
    }
    out.classes.emplace_back(trim(std::string_view(name).substr(kVectorColumn.size()), kBlanks));
    out.vector.push_back(c);
    if (out.classes.back().empty()) return row_fault(row, name, "the class has no name");
    if (!seen.insert(out.classes.back()).second) {
      return row_fault(row, name, "two columns are of this class");
    }
  }
  const std::size_t fields = 1 + (out.label != kNone || !out.vector.empty()) + out.others.size();
  if (fields <= kMaxFields) return {};
  return Fault{ErrorCode::csv_damaged,
               fmt::format("line {}: {} columns that become fields; {} are allowed", row.line,
                           fields, kMaxFields),
               row.offset};
}

std::string describe_no_path(const Head& head, const CsvRow& row) {
  constexpr std::size_t kMost = 10;
  std::string names;
  for (std::size_t c = 0; c < std::min(kMost, head.names.size()); ++c) {
    names += (c == 0 ? "'" : "', '") + printable(head.names[c].substr(0, 60));
  }
  std::string out = fmt::format(
      "line {}: no column is named 'path' (or 'file', 'filename', 'image'); it has {}'{}", row.line,
      names, head.names.size() > kMost ? ", ..." : "");
  if (head.names.size() == 1 && head.names[0].find_first_of(";|\t") != std::string::npos) {
    out += ". Columns are separated by commas, in a .tsv by tabs";
  }
  return out;
}

// Sets `column` to the column that the user names, or else to the first usual one.
std::optional<Fault> choose_column(std::size_t& column, const Head& head, const std::string& wanted,
                                   std::initializer_list<const char*> usual, const CsvRow& row) {
  if (wanted.empty()) {
    column = find_column(head, usual);
    return {};
  }
  const auto found = std::find(head.names.begin(), head.names.end(), wanted);
  column = static_cast<std::size_t>(found - head.names.begin());
  if (found != head.names.end()) return {};
  std::string names;
  for (const std::string& name : head.names) {
    if (names.size() > 200) {
      names += ", ...";
      break;
    }
    names += (names.empty() ? "" : ", ") + printable(name.substr(0, 60));
  }
  return Fault{ErrorCode::field_unclear,
               fmt::format("line {}: no column is called '{}'; there are: {}", row.line,
                           printable(wanted), names),
               row.offset};
}

// Fields called "image" and "label" are the sample's. If the user chose others, these get a "_".
std::optional<Fault> check_reserved(Head& out, const SourceOptions& options, const CsvRow& row) {
  for (const std::size_t c : out.others) {
    std::string& name = out.names[c];
    if (name != "image" && name != "label") continue;
    if ((name == "image" ? options.image : options.label).empty()) {
      return row_fault(row, name, "another column already is the sample's " + name);
    }
    do name += '_';
    while (std::count(out.names.begin(), out.names.end(), name) > 1);
  }
  return {};
}

std::optional<Fault> parse_head(Head& out, const CsvRow& row, const SourceOptions& options) {
  std::unordered_set<std::string> seen;
  for (std::size_t c = 0; c < row.cells.size(); ++c) {
    std::string name(trim(row.cells[c], kBlanks));
    if (name.empty()) name = fmt::format("column_{}", c + 1);  // an index written by pandas
    if (name.size() > kMaxKeyBytes) {
      return row_fault(row, name.substr(0, 60) + "...",
                       fmt::format("its name is longer than {} bytes", with_commas(kMaxKeyBytes)));
    }
    if (!is_utf8(name)) return row_fault(row, name, "its name is not UTF-8");
    if (!seen.insert(name).second) {
      return row_fault(row, name, "two columns have this name");
    }
    out.names.push_back(std::move(name));
  }
  auto fault =
      choose_column(out.path, out, options.image, {"path", "file", "filename", "image"}, row);
  if (!fault) fault = choose_column(out.label, out, options.label, {"label", "class"}, row);
  if (fault) return fault;
  if (out.path == kNone) {
    return Fault{ErrorCode::csv_damaged, describe_no_path(out, row), row.offset};
  }
  // Another column than the usual one has no numbers beside it.
  const bool is_usual = out.label == find_column(out, {"label", "class"});
  if (out.label != kNone && is_usual) out.number = find_column(out, {kNumberColumn});
  out.offset = find_column(out, {kOffsetColumn});
  out.bytes = find_column(out, {kBytesColumn});
  if ((out.offset == kNone) != (out.bytes == kNone)) {
    const bool has_offset = out.offset != kNone;
    return row_fault(
        row, out.names[has_offset ? out.offset : out.bytes],
        fmt::format("it needs a column '{}' beside it", has_offset ? kBytesColumn : kOffsetColumn));
  }
  if ((fault = find_vector(out, row))) return fault;
  return check_reserved(out, options, row);
}

std::optional<Fault> check_path(const CsvRow& row, const Head& head) {
  const std::string& path = row.cells[head.path];
  const std::string& column = head.names[head.path];
  if (path.empty()) return row_fault(row, column, "it is empty");
  if (path.size() > kMaxKeyBytes) {
    return row_fault(row, column,
                     fmt::format("'{}...' is longer than {} bytes", printable(path.substr(0, 60)),
                                 with_commas(kMaxKeyBytes)));
  }
  if (path.find('\0') != std::string::npos) return row_fault(row, column, "it holds a zero byte");
  const std::string clean = clean_path(path);
  if (clean.empty() || clean == "/" || clean == ".." || clean.ends_with("/..")) {
    return row_fault(row, column, fmt::format("'{}' is a folder", printable(path)));
  }
  return {};
}

// Adds the offset or the size of the file part that a row names.
std::optional<Fault> add_whole(std::vector<std::uint64_t>& out, const CsvRow& row, const Head& head,
                               std::size_t column, std::uint64_t least) {
  const std::string_view cell = trim(row.cells[column], kBlanks);
  std::uint64_t value = 0;
  const char* end = cell.data() + cell.size();
  const auto [at, error] = std::from_chars(cell.data(), end, value);
  // The system requires signed file offsets and sizes.
  if (error != std::errc{} || at != end || value < least || value > kMaxFileOffset) {
    return row_fault(row, head.names[column],
                     fmt::format("'{}' is no whole number from {} to {}",
                                 printable(std::string(cell.substr(0, 60))), least,
                                 with_commas(kMaxFileOffset)));
  }
  out.push_back(value);
  return {};
}

// Adds the file of a row, and the part of the file.
std::optional<Fault> add_place(List& out, const CsvRow& row, const Head& head) {
  if (auto fault = check_path(row, head)) return fault;
  out.paths.add(row.cells[head.path]);
  if (head.offset == kNone) return {};
  if (auto fault = add_whole(out.offsets, row, head, head.offset, 0)) return fault;
  return add_whole(out.sizes, row, head, head.bytes, 1);
}

// Adds the numbers of one row as float32.
std::optional<Fault> add_vector(std::vector<float>& out, const CsvRow& row, const Head& head) {
  for (const std::size_t c : head.vector) {
    const std::string_view cell = trim(row.cells[c], kBlanks);
    const std::optional<double> number = parse_number(cell);
    if (!number || !std::isfinite(static_cast<float>(*number))) {
      Fault fault =
          row_fault(row, head.names[c],
                    cell.empty() ? "it is empty; a label needs a number for every class"
                                 : fmt::format("'{}' is no finite number",
                                               printable(std::string(cell.substr(0, 60)))));
      fault.code = ErrorCode::label_unreadable;
      return fault;
    }
    out.push_back(static_cast<float>(*number));
  }
  return {};
}

FieldType column_type(const StringTable& column) {
  bool numbers = true;
  bool text = true;
  for (std::size_t i = 0; i < column.size() && text; ++i) {
    numbers = numbers && is_exact_number(column[i]);
    text = numbers || is_utf8(column[i]);
  }
  return numbers ? FieldType::number : text ? FieldType::text : FieldType::bytes;
}

// Adds a label that has its number in one column and its name in another.
std::optional<Fault> add_numbered(List& out, NumberedClasses& classes, const CsvRow& row,
                                  const Head& head, bool is_sample) {
  const std::string_view cell = trim(row.cells[head.number], kBlanks);
  const std::string& name = row.cells[head.label];
  const std::optional<std::int64_t> number = parse_label(cell);
  std::string reason;
  if (!number) {
    reason = fmt::format("the label '{}' is no whole number from 0 on (-1 for none)",
                         printable(std::string(cell.substr(0, 60))));
  } else if (!is_sample || !name.empty()) {
    reason = classes.add(*number, name);
  }
  if (!reason.empty()) {
    Fault fault = row_fault(row, head.names[head.number], reason);
    fault.code = ErrorCode::label_unreadable;
    return fault;
  }
  if (is_sample) out.labels.push_back(*number);
  return {};
}

using Places = std::vector<std::pair<std::uint64_t, std::uint64_t>>;  // line and offset, for faults

// Takes classes and numbers from the label column, if there is one.
std::optional<Fault> take_labels(List& out, const Head& head, const StringTable& labels,
                                 const Places& places) {
  if (head.label == kNone) return std::nullopt;
  if (head.number != kNone) {
    out.schema.fields.push_back({"label", FieldType::label});
    return std::nullopt;
  }
  Labels made;
  if (const auto fault = make_labels(made, labels)) {
    const auto [line, offset] = places[fault->sample];
    return Fault{ErrorCode::label_unreadable,
                 fmt::format("line {}, column '{}': {}{}", line, head.names[head.label],
                             fault->reason, label_advice(labels[fault->sample])),
                 offset};
  }
  out.schema.fields.push_back({"label", FieldType::label});
  out.schema.classes = std::move(made.classes);
  out.labels = std::move(made.values);
  out.label_warning = renumbering_warning(out.schema.classes);
  return std::nullopt;
}

}  // namespace

std::optional<Fault> parse_list(List& out, std::string_view text, char separator,
                                const SourceOptions& options) {
  out = {};
  out.schema.source = separator == '\t' ? "tsv" : "csv";
  CsvReader reader(text, separator, kMaxColumns);
  CsvRow row;
  if (!reader.next(row)) {
    return reader.fault() ? reader.fault()
                          : Fault{ErrorCode::csv_damaged,
                                  "the first line, which names the columns, is missing", 0};
  }
  Head head;
  if (auto fault = parse_head(head, row, options)) return fault;
  out.columns.resize(head.others.size());

  StringTable labels;
  NumberedClasses classes;
  Places places;
  while (reader.next(row)) {
    if (stop_requested()) return Fault{ErrorCode::interrupted, "", row.offset};
    if (row.cells.size() != head.names.size()) {
      return Fault{ErrorCode::csv_damaged,
                   fmt::format("line {}: {} columns, but the first line has {}", row.line,
                               row.cells.size(), head.names.size()),
                   row.offset};
    }
    const bool is_sample = head.number == kNone || !row.cells[head.path].empty();
    if (head.number != kNone) {
      if (auto fault = add_numbered(out, classes, row, head, is_sample)) return fault;
      if (!is_sample) continue;
    }
    if (auto fault = add_place(out, row, head)) return fault;
    if (head.label != kNone && head.number == kNone) {
      labels.add(trim(row.cells[head.label], kBlanks));
      places.emplace_back(row.line, row.offset);
    }
    if (auto fault = add_vector(out.label_vectors, row, head)) return fault;
    for (std::size_t c = 0; c < head.others.size(); ++c) {
      out.columns[c].add(row.cells[head.others[c]]);
    }
  }
  if (reader.fault()) return reader.fault();
  if (const std::string reason = classes.take(out.schema.classes); !reason.empty()) {
    return Fault{ErrorCode::label_unreadable, reason, text.size()};
  }

  out.schema.fields.push_back({"image", FieldType::image});
  if (auto fault = take_labels(out, head, labels, places)) return fault;
  if (!head.vector.empty()) {
    out.schema.fields.push_back({kLabelVectorField, FieldType::array});
    out.schema.classes = std::move(head.classes);
  }
  for (std::size_t c = 0; c < head.others.size(); ++c) {
    out.schema.fields.push_back({head.names[head.others[c]], column_type(out.columns[c])});
  }
  return {};
}

}  // namespace tundish
