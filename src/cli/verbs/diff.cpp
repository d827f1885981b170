// tundish diff: lists the samples in which two datasets differ.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/file.h"
#include "cli/json.h"
#include "cli/progress.h"
#include "cli/source_arguments.h"
#include "cli/verbs.h"
#include "data/pack/compare.h"

namespace tundish::cli {
namespace {

constexpr VerbHelp kHelp = {
    .verb = "diff",
    .usage = "A B [options]",
    .examples = R"(tundish diff old.tnd new.tnd
tundish diff photos/ train.tnd --json)",
    .text = R"(Compares two datasets by the keys of their samples. Lists samples that are only in A
(-), samples that are only in B (+), and samples that changed (~), with the change: the
image's bytes, the label, other fields. Labels are compared by the names of their
classes. A and B may be any source that tundish pack accepts. Images of a pack are
compared as they were before they were packed. A different order of the samples is
reported, but is not a difference. If two packs have the same id, such as a pack and its
copy, every byte is checked against the checksums.

Exit code 0: the datasets are the same; 1: they differ; 2: wrong use, or a dataset
cannot be opened; 3: a dataset is damaged.)",
    .json = R"({same, unchanged, added, removed, changed, classes_added, classes_removed, fields,
damage, same_order}; added and removed are arrays of {key, sample}; changed of {key,
samples, label, fields, unreadable}, label {before, after} or null, unreadable a
message or null; fields: differences of the schema; damage: messages about damage
outside of samples)"};

std::string label_text(const Source& source, std::uint64_t i) {
  const std::int64_t label = source.info(i).label;
  if (label < 0) return "none";
  const auto place = static_cast<std::size_t>(label);
  const std::vector<std::string>& classes = source.schema().classes;
  return place < classes.size() ? printable(classes[place]) : std::to_string(label);
}

Json keys_json(const Source& source, const std::vector<std::uint64_t>& numbers) {
  Json out = Json::array();
  for (const std::uint64_t i : numbers) {
    Json row;
    put_key(row, source.key(i));
    row["sample"] = i;
    out.push_back(std::move(row));
  }
  return out;
}

Json names_json(const std::vector<std::string>& names) {
  Json out = Json::array();
  for (const std::string& name : names) out.push_back(json_text(name));
  return out;
}

Json difference_json(const SourceDifference& found, const Source& first, const Source& second) {
  Json out;
  out["same"] = found.is_same();
  out["unchanged"] = found.same;
  out["added"] = keys_json(second, found.added);
  out["removed"] = keys_json(first, found.removed);
  out["changed"] = Json::array();
  for (const ChangedSample& sample : found.changed) {
    Json row;
    put_key(row, first.key(sample.first));
    row["samples"] = {sample.first, sample.second};
    row["label"] = sample.label ? Json{{"before", label_text(first, sample.first)},
                                       {"after", label_text(second, sample.second)}}
                                : Json();
    row["fields"] = names_json(sample.fields);
    row["unreadable"] = sample.unreadable.empty() ? Json() : Json(json_text(sample.unreadable));
    out["changed"].push_back(std::move(row));
  }
  out["classes_added"] = names_json(found.classes_added);
  out["classes_removed"] = names_json(found.classes_removed);
  out["fields"] = names_json(found.fields);
  out["damage"] = names_json(found.damage);
  out["same_order"] = found.same_order;
  return out;
}

std::string changed_line(const ChangedSample& sample, const Source& first, const Source& second) {
  std::string what;
  const auto add = [&](const std::string& text) { what += (what.empty() ? "" : ", ") + text; };
  for (const std::string& field : sample.fields) add(printable(field));
  if (sample.label) {
    add(fmt::format("label {} -> {}", label_text(first, sample.first),
                    label_text(second, sample.second)));
  }
  if (!sample.unreadable.empty()) add("cannot be read: " + sample.unreadable);
  return fmt::format("~ {}  {}\n", printable(first.key(sample.first)), what);
}

void print_difference(const SourceDifference& found, const Source& first, const Source& second,
                      const Shell& shell) {
  for (const std::string& text : found.damage) shell.print(fmt::format("! {}\n", text));
  for (const std::string& text : found.fields) shell.print(fmt::format("~ {}\n", printable(text)));
  for (const std::string& name : found.classes_removed) {
    shell.print(fmt::format("- class {}\n", printable(name)));
  }
  for (const std::string& name : found.classes_added) {
    shell.print(fmt::format("+ class {}\n", printable(name)));
  }
  for (const std::uint64_t i : found.removed) {
    shell.print(fmt::format("- {}\n", printable(first.key(i))));
  }
  for (const std::uint64_t i : found.added) {
    shell.print(fmt::format("+ {}\n", printable(second.key(i))));
  }
  for (const ChangedSample& sample : found.changed) {
    shell.print(changed_line(sample, first, second));
  }
  shell.line(found.is_same()      ? "same"
             : found.is_damaged() ? "damaged"
                                  : "differ",
             fmt::format("{} unchanged, {} removed, {} added, {} changed{}",
                         with_commas(found.same), with_commas(found.removed.size()),
                         with_commas(found.added.size()), with_commas(found.changed.size()),
                         found.same_order ? "" : "; the order differs"));
}

constexpr std::uint64_t kMaxNumbersBytes = 1ull << 30;

// Reads a file with one number per line.
std::vector<std::uint64_t> read_numbers(const std::string& path) {
  std::vector<std::byte> bytes;
  read_file(bytes, path, kMaxNumbersBytes);
  const auto* at = reinterpret_cast<const char*>(bytes.data());
  const auto* const end = at + bytes.size();
  std::vector<std::uint64_t> out;
  while (at != end) {
    std::uint64_t number = 0;
    const auto [stop, error] = std::from_chars(at, end, number);
    if (error != std::errc() || (stop != end && *stop != '\n')) {
      throw UsageError(fmt::format("line {} of {} is not a number", with_commas(out.size() + 1),
                                   printable(path)));
    }
    out.push_back(number);
    at = stop == end ? end : stop + 1;
  }
  return out;
}

int compare(const std::string& a, const std::string& b, const std::string& numbers,
            const SourceArguments& about, std::uint64_t threads, const Shell& shell) {
  const std::shared_ptr<const Source> first = open_source(a, about);
  const std::shared_ptr<const Source> second = open_source(b, about);
  Progress progress(shell, "comparing", "img");
  const CompareProgress show = [&](std::uint64_t done, std::uint64_t all) {
    progress.show({.items = done, .items_total = all});
  };
  const auto count = static_cast<int>(threads);
  const SourceDifference found =
      numbers.empty() ? compare_sources(*first, *second, count, show)
                      : compare_by_number(*first, *second, read_numbers(numbers), count, show);
  progress.wipe();
  if (shell.json) {
    print_json(shell, difference_json(found, *first, *second));
  } else if (!shell.quiet) {
    print_difference(found, *first, *second, shell);
  }
  return found.is_damaged() ? kDamaged : found.is_same() ? kOk : kFailed;
}

}  // namespace

int run_diff(const Args& args, Shell& shell) {
  std::string a, b, numbers;
  SourceArguments about;
  std::uint64_t threads = 0;
  Arguments arguments(kHelp, shell);
  arguments.positional(a, "A", "a pack, or another source");
  arguments.positional(b, "B", "the source to compare with A");
  add_source_arguments(arguments, about);
  arguments.option(numbers, "--numbers", "FILE",
                   "compare the samples of these numbers only, one per line");
  add_threads(arguments, threads);
  if (!arguments.parse(args)) return kOk;
  try {
    return compare(a, b, numbers, about, threads, shell);
  } catch (const Error& error) {
    if (exit_of(error.code()) != kFailed) throw;
    return shell.fail(error, kUsage);  // 1 means "the datasets differ"
  }
}

}  // namespace tundish::cli
