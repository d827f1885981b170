#include "source/formats/file_list.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <filesystem>
#include <unordered_set>

#include "core/file.h"
#include "core/interruption.h"
#include "source/formats/csv.h"
#include "source/label_vector.h"
#include "source/labels.h"
#include "source/loose_file.h"
#include "source/names.h"
#include "source/number.h"

namespace tundish {
namespace {

constexpr std::uint64_t kMaxListBytes = 1ull << 30;
constexpr std::size_t kNone = ~std::size_t{0};
constexpr std::size_t kMaxColumns = 20'000;  // most of them are parts of a label
constexpr std::string_view kVectorColumn = "label:";

constexpr std::string_view kBlanks = " \t";

Fault row_fault(const CsvRow& row, const std::string& column, const std::string& reason) {
  return {ErrorCode::csv_damaged,
          fmt::format("line {}, column '{}': {}", row.line, printable(column), reason), row.offset};
}

// What each column of the head is for.
struct Head {
  std::vector<std::string> names;
  std::size_t path = kNone;
  std::size_t label = kNone;
  std::vector<std::size_t> vector = {};   // columns of a label that is a vector
  std::vector<std::string> classes = {};  // their names
  std::vector<std::size_t> others = {};   // each gives a field
};

std::size_t find_column(const Head& head, std::initializer_list<const char*> wanted) {
  for (const char* name : wanted) {
    for (std::size_t c = 0; c < head.names.size(); ++c) {
      if (lower(head.names[c]) == name) return c;
    }
  }
  return kNone;
}

// The columns of a vector, and all that remain.
std::optional<Fault> find_vector(Head& out, const CsvRow& row) {
  std::unordered_set<std::string_view> seen;
  out.classes.reserve(out.names.size());  // `seen` keeps views of them
  for (std::size_t c = 0; c < out.names.size(); ++c) {
    const std::string& name = out.names[c];
    if (c == out.path || c == out.label) continue;
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

std::optional<Fault> parse_head(Head& out, const CsvRow& row) {
  std::unordered_set<std::string> seen;
  for (std::size_t c = 0; c < row.cells.size(); ++c) {
    std::string name(trim(row.cells[c], kBlanks));
    if (name.empty()) name = fmt::format("column_{}", c + 1);  // an index that pandas wrote
    if (!is_utf8(name)) return row_fault(row, name, "its name is not UTF-8");
    if (!seen.insert(name).second) {
      return row_fault(row, name, "two columns have this name");
    }
    out.names.push_back(std::move(name));
  }
  out.path = find_column(out, {"path", "file", "filename", "image"});
  out.label = find_column(out, {"label", "class"});
  if (out.path == kNone) {
    return Fault{ErrorCode::csv_damaged,
                 fmt::format("line {}: no column is named 'path'", row.line), row.offset};
  }
  if (auto fault = find_vector(out, row)) return fault;
  for (const std::size_t c : out.others) {
    if ((out.names[c] == "image" || out.names[c] == "label")) {
      return row_fault(row, out.names[c], "another column already is the sample's " + out.names[c]);
    }
  }
  return {};
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

// The numbers of one row, as float32.
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

std::string parent(const std::string& path) { return path.substr(0, path.rfind('/')); }

class FileList : public Source {
 public:
  explicit FileList(const std::string& path) : path_(path) {
    std::vector<std::byte> bytes;
    read_file(bytes, path, kMaxListBytes);
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const char separator = lower(path).ends_with(".tsv") ? '\t' : ',';
    if (const auto fault = parse_list(list_, text, separator)) throw Error(*fault, {.file = path});
    if (list_.paths.size() == 0) {
      throw Error(ErrorCode::source_empty, {.file = path}, "no row follows the first line");
    }
    vector_field_ = label_vector_field(list_.schema);
    text_digest_ = XXH3_64bits(text.data(), text.size());

    const std::size_t slash = path.rfind('/');
    folder_ = slash == std::string::npos ? "" : path.substr(0, slash + 1);
    std::error_code failed;
    const std::filesystem::path absolute = std::filesystem::absolute(path, failed);
    keys_ = make_keys(list_.paths, parent(clean_path(failed ? "/" : absolute.string())));
    ask_sizes();
    warn_about_repeats();
    warn_about_labels();
  }

  std::uint64_t count() const override { return keys_.size(); }
  const Schema& schema() const override { return list_.schema; }
  std::string path() const override { return path_; }
  std::string key(std::uint64_t i) const override { return std::string(keys_[i]); }
  const std::vector<std::string>& warnings() const override { return warnings_; }

  SampleInfo info(std::uint64_t i) const override {
    return {.label = list_.labels.empty() ? -1 : list_.labels[i]};
  }

  std::uint64_t bytes(std::uint64_t i) const override {
    std::uint64_t sum = sizes_[i];
    if (vector_field_ >= 0) sum += label_vector_bytes(list_.schema.classes.size());
    for (std::size_t c = 0; c < list_.columns.size(); ++c) {
      const bool number = list_.schema.fields[field_of(c)].type == FieldType::number;
      sum += number ? sizeof(double) : list_.columns[c][i].size();
    }
    return sum;
  }

  bool extent(std::uint64_t i, int field, Extent& out) const override {
    if (field != 0 || sizes_[i] == 0) return false;
    out = {file(i), 0, sizes_[i]};
    return true;
  }

  void read(Sample& out, std::uint64_t i, FieldSet fields) const override {
    out.fields.resize(list_.schema.fields.size());
    for (std::vector<std::byte>& field : out.fields) field.clear();
    if ((fields & 1) != 0) {
      read_loose_file(out.fields[0], file(i), sizes_[i],
                      {.file = path_, .record = i, .key = key(i)});
    }
    if (vector_field_ >= 0 && (fields >> vector_field_ & 1) != 0) {
      const std::size_t classes = list_.schema.classes.size();
      out.fields[static_cast<std::size_t>(vector_field_)] =
          label_vector_npy(std::span(list_.label_vectors).subspan(i * classes, classes));
    }
    for (std::size_t c = 0; c < list_.columns.size(); ++c) {
      const std::size_t f = field_of(c);
      if ((fields >> f & 1) == 0) continue;
      const std::string_view text = list_.columns[c][i];
      if (list_.schema.fields[f].type == FieldType::number) {
        out.fields[f].resize(sizeof(double));
        store(out.fields[f].data(), std::bit_cast<std::uint64_t>(*parse_number(text)));
      } else {
        const auto* first = reinterpret_cast<const std::byte*>(text.data());
        out.fields[f].assign(first, first + text.size());
      }
    }
  }

  std::string fingerprint() const override {
    const std::string text = Source::fingerprint() + fmt::format("{:016x}", text_digest_);
    const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
    return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
  }

 private:
  std::size_t field_of(std::size_t column) const {
    return list_.schema.fields.size() - list_.columns.size() + column;
  }

  std::string file(std::uint64_t i) const {
    const std::string_view path = list_.paths[i];
    return path.starts_with('/') ? std::string(path) : folder_ + std::string(path);
  }

  void ask_sizes() {
    sizes_.resize(keys_.size());
    for (std::uint64_t i = 0; i < sizes_.size(); ++i) {
      check_stop(path_);
      struct stat status;
      const bool known = ::stat(file(i).c_str(), &status) == 0 && S_ISREG(status.st_mode);
      sizes_[i] = known ? static_cast<std::uint64_t>(status.st_size) : 0;
    }
  }

  void warn_about_repeats() {
    std::unordered_set<std::string_view> seen;
    std::uint64_t repeats = 0;
    for (std::size_t i = 0; i < keys_.size(); ++i) repeats += !seen.insert(keys_[i]).second;
    if (repeats > 0) {
      warnings_.push_back(fmt::format("{}: {} rows name a file that an earlier row named",
                                      printable(path_), with_commas(repeats)));
    }
  }

  // A list without labels is fine; one whose labels have another name would train on nothing.
  void warn_about_labels() {
    if (list_.schema.find(FieldType::label) >= 0 || vector_field_ >= 0) return;
    for (const Field& field : list_.schema.fields) {
      if (!may_mean_label(lower(field.name))) continue;
      warnings_.push_back(fmt::format(
          "{}: its samples have no label, because no column is named 'label', 'class' or "
          "'label:NAME'; column '{}' is a field: did you mean 'label'?",
          printable(path_), printable(field.name)));
      return;
    }
  }

  std::string path_;
  std::string folder_;  // "" or with a slash at the end
  List list_;
  int vector_field_ = -1;  // of labels that are vectors
  StringTable keys_;
  std::vector<std::uint64_t> sizes_;  // of the images; 0: empty, or not known
  std::vector<std::string> warnings_;
  std::uint64_t text_digest_ = 0;
};

}  // namespace

std::optional<Fault> parse_list(List& out, std::string_view text, char separator) {
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
  if (auto fault = parse_head(head, row)) return fault;
  out.columns.resize(head.others.size());

  StringTable labels;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> places;  // line and offset, for faults
  while (reader.next(row)) {
    if (stop_requested()) return Fault{ErrorCode::interrupted, "", row.offset};
    if (row.cells.size() != head.names.size()) {
      return Fault{ErrorCode::csv_damaged,
                   fmt::format("line {}: {} columns, but the first line has {}", row.line,
                               row.cells.size(), head.names.size()),
                   row.offset};
    }
    if (auto fault = check_path(row, head)) return fault;
    out.paths.add(row.cells[head.path]);
    if (head.label != kNone) {
      labels.add(trim(row.cells[head.label], kBlanks));
      places.emplace_back(row.line, row.offset);
    }
    if (auto fault = add_vector(out.label_vectors, row, head)) return fault;
    for (std::size_t c = 0; c < head.others.size(); ++c) {
      out.columns[c].add(row.cells[head.others[c]]);
    }
  }
  if (reader.fault()) return reader.fault();

  out.schema.fields.push_back({"image", FieldType::image});
  if (head.label != kNone) {
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
  }
  if (!head.vector.empty()) {
    out.schema.fields.push_back({kLabelVectorField, FieldType::array});
    out.schema.classes = std::move(head.classes);
  }
  for (std::size_t c = 0; c < head.others.size(); ++c) {
    out.schema.fields.push_back({head.names[head.others[c]], column_type(out.columns[c])});
  }
  return {};
}

StringTable make_keys(const StringTable& paths, const std::string& folder) {
  StringTable cleaned;
  bool leads_out = false;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    check_stop(folder);
    const std::string path = clean_path(paths[i]);
    leads_out = leads_out || path.starts_with('/') || path == ".." || path.starts_with("../");
    cleaned.add(path);
  }
  if (!leads_out) return cleaned;

  StringTable whole;
  bool all_inside = true;
  for (std::size_t i = 0; i < cleaned.size(); ++i) {
    check_stop(folder);
    const std::string path = cleaned[i].starts_with('/')
                                 ? std::string(cleaned[i])
                                 : clean_path(folder + '/' + std::string(cleaned[i]));
    all_inside = all_inside && path.starts_with(folder + '/');
    whole.add(path);
  }
  std::string common = all_inside ? folder : parent(std::string(whole[0]));
  for (std::size_t i = 0; i < whole.size(); ++i) {
    while (!whole[i].starts_with(common + '/')) common = parent(common);
  }
  StringTable keys;
  for (std::size_t i = 0; i < whole.size(); ++i) keys.add(whole[i].substr(common.size() + 1));
  return keys;
}

std::shared_ptr<const Source> open_file_list(const std::string& path) {
  return std::make_shared<FileList>(path);
}

}  // namespace tundish
