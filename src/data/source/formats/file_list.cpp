#include "data/source/formats/file_list.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <unordered_set>

#include "base/file.h"
#include "base/interruption.h"
#include "data/source/disk_cache/file_times.h"
#include "data/source/folder_entries.h"
#include "data/source/label_vector.h"
#include "data/source/labels.h"
#include "data/source/loose_file.h"
#include "data/source/names.h"
#include "data/source/number.h"

namespace tundish {
namespace {

constexpr std::uint64_t kMaxListBytes = 1ull << 30;

std::string parent(const std::string& path) { return path.substr(0, path.rfind('/')); }

// Returns the digest of what Source::fingerprint() does not read: the other columns, and the labels
// that are vectors. Paths are not part of it: keys are the same after all files have moved.
std::uint64_t digest_of_fields(const List& list) {
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  for (const StringTable& column : list.columns) {
    for (std::size_t i = 0; i < column.size(); ++i) {
      const std::string_view cell = column[i];
      const std::uint64_t size = cell.size();
      XXH3_64bits_update(&state, &size, sizeof size);
      XXH3_64bits_update(&state, cell.data(), cell.size());
    }
  }
  const std::vector<float>& labels = list.label_vectors;
  XXH3_64bits_update(&state, labels.data(), labels.size() * sizeof(float));
  return XXH3_64bits_digest(&state);
}

class FileList : public Source, public FileTimes {
 public:
  FileList(const std::string& path, const SourceOptions& options) : path_(path) {
    std::vector<std::byte> bytes;
    read_file(bytes, path, kMaxListBytes);
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const char separator = lower(path).ends_with(".tsv") ? '\t' : ',';
    if (const auto fault = parse_list(list_, text, separator, options)) {
      throw Error(*fault, {.file = path});
    }
    if (list_.paths.size() == 0) {
      throw Error(ErrorCode::source_empty, {.file = path}, "no row follows the first line");
    }
    vector_field_ = label_vector_field(list_.schema);
    fields_digest_ = digest_of_fields(list_);

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
  std::string key(std::uint64_t i) const override {
    if (list_.offsets.empty()) return std::string(keys_[i]);
    return fmt::format("{}/{}", keys_[i], list_.offsets[i]);
  }
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
    out = {file(i), list_.offsets.empty() ? 0 : list_.offsets[i], sizes_[i]};
    return true;
  }

  void read(Sample& out, std::uint64_t i, FieldSet fields) const override {
    out.fields.resize(list_.schema.fields.size());
    for (std::vector<std::byte>& field : out.fields) field.clear();
    if ((fields & 1) != 0) {
      const Where where{.file = path_, .record = i, .key = key(i)};
      if (list_.offsets.empty()) {
        read_loose_file(out.fields[0], file(i), sizes_[i], where);
      } else {
        read_file_part(out.fields[0], file(i), list_.offsets[i], sizes_[i], where);
      }
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

  std::string file_times() const override { return fmt::format("{:016x}", times_); }
  bool was_missing(std::uint64_t i) const override { return missing_[i]; }

  std::string fingerprint() const override {
    const std::string text = Source::fingerprint() + fmt::format("{:016x}", fields_digest_);
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
    const bool parts = !list_.sizes.empty();
    sizes_ = std::move(list_.sizes);
    sizes_.resize(keys_.size());
    missing_.resize(keys_.size());
    for (std::uint64_t i = 0; i < sizes_.size(); ++i) {
      check_stop(path_);
      if (parts && i > 0 && list_.paths[i] == list_.paths[i - 1]) {
        missing_[i] = missing_[i - 1];
        continue;
      }
      struct stat status;
      const bool known = ::stat(file(i).c_str(), &status) == 0 && S_ISREG(status.st_mode);
      if (!parts) sizes_[i] = known ? static_cast<std::uint64_t>(status.st_size) : 0;
      missing_[i] = !known;
      const std::uint64_t changed = known ? content_stamp(status) : 0;
      times_ = XXH3_64bits_withSeed(&changed, sizeof changed, times_);
    }
  }

  void warn_about_repeats() {
    if (!list_.offsets.empty()) return;
    std::unordered_set<std::string_view> seen;
    std::uint64_t repeats = 0;
    for (std::size_t i = 0; i < keys_.size(); ++i) repeats += !seen.insert(keys_[i]).second;
    if (repeats > 0) {
      warnings_.push_back(fmt::format("{}: {} rows name a file that an earlier row named",
                                      printable(path_), with_commas(repeats)));
    }
  }

  // Lists without labels are valid, but a misnamed label column would silently be lost.
  void warn_about_labels() {
    if (!list_.label_warning.empty()) {
      warnings_.push_back(printable(path_) + ": " + list_.label_warning);
    }
    if (list_.schema.find(FieldType::label) >= 0 || vector_field_ >= 0) return;
    const std::vector<Field>& fields = list_.schema.fields;
    const auto named = std::find_if(fields.begin(), fields.end(), [](const Field& field) {
      return may_mean_label(lower(field.name));
    });
    const std::string name = named != fields.end() ? named->name : column_of_classes();
    if (name.empty()) return;
    warnings_.push_back(
        fmt::format("{}: its samples have no label, because no column is named 'label', 'class' or "
                    "'label:NAME'; column '{}' is a field: did you mean 'label'?",
                    printable(path_), printable(name)));
  }

  // Returns the first column whose values repeat like classes: two or more values, each in two
  // rows on average. Empty if there is none.
  std::string column_of_classes() const {
    for (std::size_t c = 0; c < list_.columns.size(); ++c) {
      std::unordered_set<std::string_view> values;
      const StringTable& column = list_.columns[c];
      for (std::size_t i = 0; i < column.size() && 2 * values.size() <= column.size(); ++i) {
        check_stop(path_);
        values.insert(column[i]);
      }
      if (values.size() >= 2 && 2 * values.size() <= column.size()) {
        return list_.schema.fields[field_of(c)].name;
      }
    }
    return "";
  }

  std::string path_;
  std::string folder_;  // empty, or ends with a slash
  List list_;
  int vector_field_ = -1;  // field of labels that are vectors
  StringTable keys_;
  std::vector<std::uint64_t> sizes_;  // image sizes; 0: empty or unknown
  std::vector<bool> missing_;         // files that were missing when the list was opened
  std::vector<std::string> warnings_;
  std::uint64_t fields_digest_ = 0;
  std::uint64_t times_ = 0;  // digest of the times of all files, in order
};

}  // namespace

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

std::shared_ptr<const Source> open_file_list(const std::string& path,
                                             const SourceOptions& options) {
  return std::make_shared<FileList>(path, options);
}

}  // namespace tundish
