// tundish unpack: the image files that were packed, byte for byte, and what belongs to them.
#include <fmt/format.h>

#include <cstring>
#include <set>

#include "cli/json.h"
#include "cli/output_folder.h"
#include "cli/progress.h"
#include "cli/record.h"
#include "cli/source_words.h"
#include "cli/text.h"
#include "cli/verbs.h"
#include "source/label_vector.h"

namespace tundish::cli {
namespace {

constexpr VerbHelp kHelp = {
    .verb = "unpack",
    .usage = "FILE -o DIR [options]",
    .examples = R"(tundish unpack train.tnd -o photos/)",
    .text = R"(Writes the image files below DIR, byte for byte, under the names they had in the
data set, and never outside DIR; so are the files that were beside them in an
archive, but for empty ones. Labels (.cls files too) and columns that do not
follow from the folders are in DIR/list.csv, or list-2.csv if that is a file of
the data set. Files that are there already with the same bytes are kept, so an
interrupted run can be repeated; others are replaced with --force only. Damaged
and unreadable records are named and left out, and so are records whose names
cannot be those of files here; records whose names are damaged are written as
record-N; exit code 3 for all of these.)",
    .json = R"({output, files, bytes, already_there, list, damaged, seconds}; list is the name of
the list or null; damaged is an array of {code, message, title, file, record,
key, offset, reason})"};

constexpr std::size_t kShown = 10;

bool is_list(const Schema& schema) { return schema.source == "csv" || schema.source == "tsv"; }

// What is in list.csv and not in a separate file.
bool is_label_vector(const Schema& schema, const Field& field) {
  return label_vector_field(schema) >= 0 && field.name == kLabelVectorField;
}

bool is_column(const Schema& schema, const Field& field) {
  return field.type == FieldType::number || (field.type == FieldType::text && is_list(schema)) ||
         is_label_vector(schema, field);
}

bool needs_list(const Schema& schema) {
  for (const Field& field : schema.fields) {
    if (is_column(schema, field)) return true;
  }
  return schema.find(FieldType::label) >= 0 && schema.source != "image folder";
}

void add_cell(std::string& row, const std::string& text) {
  if (!row.empty()) row += ',';
  if (text.find_first_of(",\"\r\n") == text.npos && !text.empty()) {
    row += text;
    return;
  }
  row += '"';
  for (const char c : text) row += c == '"' ? std::string("\"\"") : std::string(1, c);
  row += '"';
}

std::string list_head(const Schema& schema) {
  std::string row;
  add_cell(row, "path");
  for (const Field& field : schema.fields) {
    if (is_label_vector(schema, field)) {
      for (const std::string& name : schema.classes) add_cell(row, "label:" + name);
    } else if (field.type == FieldType::label || is_column(schema, field)) {
      add_cell(row, field.name);
    }
  }
  return row + '\n';
}

std::string list_row(const Schema& schema, const SampleInfo& info, const std::string& key,
                     const Sample& sample) {
  std::string row;
  add_cell(row, key);
  for (std::size_t f = 0; f < schema.fields.size(); ++f) {
    const Field& field = schema.fields[f];
    const std::vector<std::byte>& bytes = sample.fields.at(f);
    double number = 0;
    if (field.type == FieldType::label) {
      const std::string name = class_name(schema, info.label);
      add_cell(row, name.empty() ? std::to_string(info.label) : name);
    } else if (field.type == FieldType::number) {
      if (bytes.size() == sizeof number) std::memcpy(&number, bytes.data(), sizeof number);
      add_cell(row, fmt::format("{}", number));
    } else if (is_label_vector(schema, field)) {
      std::vector<float> vector(schema.classes.size());
      const bool damaged = read_label_vector(vector, bytes).has_value();
      for (const float one : vector) add_cell(row, damaged ? "" : fmt::format("{}", one));
    } else if (is_column(schema, field)) {
      add_cell(row, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    }
  }
  return row + '\n';
}

// The image has the sample's name; another file the same up to the first dot, then its kind.
std::string file_name(const Schema& schema, std::size_t field, const std::string& key) {
  if (schema.fields[field].type == FieldType::image) return key;
  const std::size_t slash = key.rfind('/');
  const std::size_t dot = key.find('.', slash == key.npos ? 1 : slash + 2);
  const std::string& kind = schema.fields[field].name;
  // source/formats/tar_index.cpp gives these a dot, to distinguish them from the image and the
  // label
  const bool has_dot = kind == "." || kind == ".image" || kind == ".label";
  return fmt::format("{}{}{}", key.substr(0, dot), has_dot ? "" : ".", kind);
}

const char* ending_of(Codec codec) {
  switch (codec) {
    case Codec::jpeg:
    case Codec::lanes:
      return ".jpg";
    case Codec::png:
      return ".png";
    case Codec::npy:
      return ".npy";
    case Codec::webp:
      return ".webp";
    case Codec::bmp:
      return ".bmp";
    case Codec::gif:
      return ".gif";
    default:
      return "";
  }
}

// A name that is no file of the data set.
std::string free_list_name(const std::set<std::string>& taken) {
  std::string name = "list.csv";
  for (int n = 2; taken.contains(name); ++n) name = fmt::format("list-{}.csv", n);
  return name;
}

// What was written, and what could not be.
struct Unpacked {
  std::uint64_t files = 0, bytes = 0, already_there = 0;
  std::string list;  // name of the list, or empty
  std::vector<Error> damaged;
};

// Writes the files record by record, and the list of all files.
class Unpacker {
 public:
  Unpacker(const Source& source, const std::string& file, const std::string& target, bool force)
      : source_(source), schema_(source.schema()), file_(file), folder_(target, force) {
    if (needs_list(schema_)) list_ = list_head(schema_);
  }

  void record(std::uint64_t i) {
    try {
      source_.read_original(sample_, i);
      const std::string key = name_of(i);
      for (std::size_t f = 0; f < schema_.fields.size(); ++f) field(f, key);
      if (!list_.empty()) list_ += list_row(schema_, source_.info(i), key, sample_);
    } catch (const SampleError& error) {  // damaged, or the disk cannot read it: others it can
      if (error.code() == ErrorCode::no_memory) throw;
      done_.damaged.push_back(error);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::name_unsafe) throw;  // of the source or the output as a whole
      done_.damaged.emplace_back(                         // name the record
          error.code(), Where{.file = file_, .record = i, .key = source_.key_or_nothing(i)},
          error.reason());
    }
  }

  void finish() {
    if (!list_.empty()) {
      done_.list = free_list_name(like_lists_);
      folder_.write(done_.list, std::as_bytes(std::span(list_)));
    }
    folder_.sync();
  }

  const Unpacked& done() const { return done_; }

 private:
  // Its key, or one made up where a block of names is damaged: the record itself may be valid.
  std::string name_of(std::uint64_t i) {
    try {
      return source_.key(i);
    } catch (const Error& error) {
      if (exit_of(error.code()) != kDamaged && error.code() != ErrorCode::io_read) throw;
      const std::string text = error.what();
      if (text != last_name_damage_) done_.damaged.push_back(error);
      last_name_damage_ = text;
      return fmt::format("record-{}{}", i, ending_of(source_.info(i).codec));
    }
  }

  void field(std::size_t f, const std::string& key) {
    const Field& field = schema_.fields[f];
    if (field.type == FieldType::label || is_column(schema_, field)) return;
    const std::vector<std::byte>& content = sample_.fields.at(f);
    if (content.empty() && field.type != FieldType::image) return;  // the sample has no such file
    const std::string name = file_name(schema_, f, key);
    if (!folder_.write(name, content)) ++done_.already_there;
    const std::string top = name.substr(0, name.find('/'));  // a folder's name is taken too
    if (top.starts_with("list") && top.ends_with(".csv")) like_lists_.insert(top);
    ++done_.files;
    done_.bytes += content.size();
  }

  const Source& source_;
  const Schema& schema_;
  const std::string file_;
  OutputFolder folder_;
  std::string list_;                  // empty when none is needed
  std::set<std::string> like_lists_;  // names that the list may not have
  Sample sample_;
  std::string last_name_damage_;  // one message for a whole block
  Unpacked done_;
};

void print_as_json(const Unpacked& done, const std::string& target, double seconds,
                   const Shell& shell) {
  Json out;
  out["output"] = json_text(target);
  out["files"] = done.files;
  out["bytes"] = done.bytes;
  out["already_there"] = done.already_there;
  out["list"] = done.list.empty() ? Json() : Json(done.list);
  out["damaged"] = Json::array();
  for (const Error& error : done.damaged) out["damaged"].push_back(error_json(error));
  out["seconds"] = seconds;
  print_json(shell, out);
}

void print_text(const Unpacked& done, const std::string& target, double seconds,
                const Shell& shell) {
  std::string text =
      fmt::format("{}  {} files, {} in {}", printable(target), with_commas(done.files),
                  bytes_text(static_cast<double>(done.bytes)), duration_text(seconds));
  if (done.already_there) {
    text += fmt::format(", {} were there already", with_commas(done.already_there));
  }
  if (!done.damaged.empty()) {
    text += fmt::format(", {} damaged left out", with_commas(done.damaged.size()));
  }
  shell.line("done", text);
}

}  // namespace

int run_unpack(const Words& words, Shell& shell) {
  std::string file;
  std::string target;
  bool force = false;
  SourceWords about;
  Arguments arguments(kHelp, shell);
  arguments.word(file, "FILE", "a pack");
  add_source_words(arguments, about);
  arguments.option(target, "-o,--output", "DIR", "where to write; made when missing", true);
  arguments.flag(force, "-f,--force", "replace files that are there with other bytes");
  if (!arguments.parse(words)) return kOk;
  if (target.empty()) throw UsageError("the name after -o is empty");

  const std::shared_ptr<const Source> source = open_source(file, about);
  std::uint64_t total = 0;
  for (std::uint64_t i = 0; i < source->count(); ++i) total += source->bytes(i);
  Unpacker unpacker(*source, file, target, force);
  const Unpacked& done = unpacker.done();
  Progress progress(shell, "unpacking", "files");
  for (std::uint64_t i = 0; i < source->count(); ++i) {
    check_interrupt(file);
    unpacker.record(i);
    progress.show({.items = done.files,
                   .items_total = source->count(),
                   .bytes = done.bytes,
                   .bytes_total = total});
  }
  unpacker.finish();
  progress.wipe();

  for (std::size_t i = 0; i < done.damaged.size() && i < kShown; ++i) {
    shell.warn(done.damaged[i].what());
  }
  if (done.damaged.size() > kShown) {
    shell.warn(fmt::format("and {} more", with_commas(done.damaged.size() - kShown)));
  }
  (shell.json ? print_as_json : print_text)(done, target, progress.seconds(), shell);
  return done.damaged.empty() ? kOk : kDamaged;
}

}  // namespace tundish::cli
