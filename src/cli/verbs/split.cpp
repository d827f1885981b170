// tundish split: writes one pack per part of a dataset, by a hash of the keys.
#include "data/source/views/split.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/clock.h"
#include "base/file.h"
#include "cli/json.h"
#include "cli/pack/log.h"
#include "cli/pack/report.h"
#include "cli/pack/split_journal.h"
#include "cli/pack/write_pack.h"
#include "cli/source_arguments.h"
#include "cli/text.h"
#include "cli/verbs.h"
#include "data/pack/own_files.h"
#include "data/source/views/selected.h"

namespace tundish::cli {
namespace {

constexpr VerbHelp kHelp = {
    .verb = "split",
    .usage = "SRC PARTS -o PREFIX [options]",
    .examples = R"(tundish split photos/ train=0.9,val=0.1 -o data
tundish split all.tnd train=80%,val=10%,test=10% -o data --seed 7)",
    .text = R"(Writes one pack per part: PREFIX-train.tnd, PREFIX-val.tnd. If PREFIX ends with /,
the packs are PREFIX/train.tnd, ..., and the folder is created. The key of a sample and
the seed decide its part. So a sample stays in its part when data is added (unless its
folder is renamed), and the parts of several datasets agree. Shares hold on average, not
exactly. All parts have all classes. Records of a pack are copied unchanged; other
images are packed as by tundish pack. After an interruption, the same command continues:
finished parts are kept.)",
    .json = R"({parts, samples, seed, seconds}; parts is an array of {name, share, output, samples,
copied, file_bytes, id, refused, doubtful, kept, log, classes}; kept is true if an
interrupted split had finished the part; classes counts the samples of each class, by
name or number)"};

struct SplitArguments {
  std::string from, parts, prefix, codec = "lanes";
  SourceArguments about;
  std::uint64_t seed = 0, threads = 0;
  bool force = false, skip_bad = false;
};

struct WrittenPart {
  SplitPart part;
  std::string output, log = {};
  PackReport report = {};
  bool kept = false;  // finished by an earlier, interrupted split
  std::vector<std::pair<std::string, std::uint64_t>> classes = {};  // with the number of samples
};

bool parse(SplitArguments& out, const Args& args, Shell& shell) {
  Arguments arguments(kHelp, shell);
  arguments.positional(out.from, "SRC", "a pack, or any other source");
  arguments.positional(out.parts, "PARTS", "names and shares: train=0.9,val=0.1");
  add_source_arguments(arguments, out.about);
  arguments.option(out.prefix, "-o,--output", "PREFIX", "the packs are PREFIX-NAME.tnd", true);
  arguments.option(out.seed, "--seed", "N", "changes the hash and thus the split (0)", 0,
                   ~std::uint64_t{0});
  arguments.option(out.codec, "--codec", "C", "lanes (default): re-code JPEGs; keep: unchanged");
  arguments.flag(out.force, "-f,--force", "replace packs that exist");
  arguments.flag(out.skip_bad, "--skip-bad", "exit code 0 despite refused files");
  add_threads(arguments, out.threads);
  if (!arguments.parse(args)) return false;
  if (out.codec != "lanes" && out.codec != "keep") {
    throw UsageError(fmt::format("--codec is one of lanes, keep, not '{}'", printable(out.codec)));
  }
  return true;
}

std::vector<SplitPart> parts_of(const std::string& text) {
  try {
    return parse_split(text);
  } catch (const Error& error) {
    throw UsageError(error.reason());
  }
}

std::string output_of(const std::string& prefix, const std::string& name) {
  return fmt::format("{}{}{}.tnd", prefix, prefix.ends_with('/') ? "" : "-", name);
}

// Counts the samples of the pack by class, excluding refused samples.
std::vector<std::pair<std::string, std::uint64_t>> count_classes(const Source& source,
                                                                 const PackReport& report) {
  std::map<std::int64_t, std::uint64_t> counts;
  for (std::uint64_t i = 0; i < source.count(); ++i) ++counts[source.info(i).label];
  for (const Refusal& refusal : report.refused) --counts[source.info(refusal.sample).label];
  const std::vector<std::string>& names = source.schema().classes;
  std::vector<std::pair<std::string, std::uint64_t>> out;
  for (std::size_t label = 0; label < names.size(); ++label) {
    out.emplace_back(names[label], counts[static_cast<std::int64_t>(label)]);
  }
  for (const auto& [label, count] : counts) {
    const bool named = label >= 0 && static_cast<std::size_t>(label) < names.size();
    if (!named && label >= 0 && count > 0) out.emplace_back(std::to_string(label), count);
  }
  return out;
}

void print_as_json(const std::vector<WrittenPart>& parts, const SplitArguments& arguments,
                   std::uint64_t samples, double seconds, const Shell& shell) {
  Json out{{"parts", Json::array()}, {"samples", samples}, {"seed", arguments.seed}};
  for (const WrittenPart& part : parts) {
    Json row{{"name", part.part.name}, {"share", part.part.share}};
    row["output"] = json_text(part.output);
    put_pack(row, part.report);
    row["kept"] = part.kept;
    row["log"] = part.log.empty() ? Json() : Json(json_text(part.log));
    row["classes"] = Json::object();
    for (const auto& [name, count] : part.classes) row["classes"][json_text(name)] = count;
    out["parts"].push_back(std::move(row));
  }
  out["seconds"] = seconds;
  print_json(shell, out);
}

void print_parts(const std::vector<WrittenPart>& parts, std::uint64_t samples, const Shell& shell) {
  constexpr std::size_t kClassesShown = 20;
  for (const WrittenPart& part : parts) {
    shell.line("done", fmt::format("{}  {}, {} ({:.2f}%), {} copied", printable(part.output),
                                   bytes_text(static_cast<double>(part.report.file_bytes)),
                                   counted(part.report.samples, "sample"),
                                   100.0 * static_cast<double>(part.report.samples) /
                                       static_cast<double>(samples),
                                   with_commas(part.report.copied)));
    std::string classes;
    for (std::size_t n = 0; n < part.classes.size() && n < kClassesShown; ++n) {
      classes += fmt::format("{}{} {}", n == 0 ? "" : ", ", printable(part.classes[n].first),
                             with_commas(part.classes[n].second));
    }
    if (part.classes.size() > kClassesShown) {
      classes += fmt::format(", ... ({} classes; --json has all)", part.classes.size());
    }
    if (!classes.empty()) shell.line("classes", classes);
  }
}

void check_numbers(const std::vector<std::vector<std::uint64_t>>& numbers,
                   const std::vector<SplitPart>& parts, const Source& source) {
  for (std::size_t p = 0; p < parts.size(); ++p) {
    if (!numbers[p].empty()) continue;
    throw Error(ErrorCode::nothing_chosen, {.file = source.path()},
                fmt::format("none of {} samples falls into part {}", with_commas(source.count()),
                            parts[p].name));
  }
}

void make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!error) return;
  throw Error(code_of_errno(error.value(), true), {.file = path},
              fmt::format("making the folder: {}", error.message()));
}

// Resumes an interrupted split with the same inputs: finished parts are kept.
std::vector<WrittenPart> write_parts(const std::shared_ptr<const Source>& source,
                                     const std::vector<SplitPart>& parts,
                                     const SplitArguments& arguments, Shell& shell) {
  const auto numbers = split_numbers(*source, parts, arguments.seed);
  check_numbers(numbers, parts, *source);
  std::vector<std::string> outputs;
  for (const SplitPart& part : parts) outputs.push_back(output_of(arguments.prefix, part.name));
  if (const std::string own = find_own_file(*source, outputs); !own.empty()) {
    throw Error(
        ErrorCode::argument, {.file = own},
        "it is a file of the source: samples of the other parts would be lost if the "
        "command were interrupted. Choose another PREFIX, and remove the source afterwards");
  }
  PackOptions options;
  options.threads = static_cast<int>(arguments.threads);
  options.lanes = arguments.codec == "lanes";
  options.copy_records = true;
  options.choice = fmt::format("parts {} seed {}", arguments.parts, arguments.seed);
  if (arguments.prefix.ends_with('/')) make_folder(arguments.prefix);
  SplitJournal journal(arguments.prefix, !arguments.force);
  journal.begin(identity_of(*source, options), outputs);
  std::vector<WrittenPart> written;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    WrittenPart part{.part = parts[p], .output = outputs[p]};
    const auto view = select_samples(source, numbers[p]);
    if (auto report = journal.finished(p)) {
      part.report = std::move(*report);
      part.kept = true;
      shell.message("kept", fmt::format("{}: it is finished", printable(part.output)));
    } else {
      options.replace = arguments.force || journal.is_own(p, *view);
      options.choice =
          fmt::format("part {} of {} seed {}", parts[p].name, arguments.parts, arguments.seed);
      part.report = write_pack(part.output, *view, options, parts[p].name.c_str(), shell);
      journal.add(p, part.report);
    }
    part.log = write_log(part.output, part.report, arguments.force, shell);
    warn_of_samples(part.report, *view, arguments.skip_bad, shell);
    part.classes = count_classes(*view, part.report);
    written.push_back(std::move(part));
  }
  journal.remove();
  return written;
}

}  // namespace

int run_split(const Args& args, Shell& shell) {
  SplitArguments arguments;
  if (!parse(arguments, args, shell)) return kOk;
  const std::vector<SplitPart> parts = parts_of(arguments.parts);
  const bool go_on = !arguments.force && SplitJournal::exists(arguments.prefix);
  for (const SplitPart& part : parts) {
    const std::string output = output_of(arguments.prefix, part.name);
    check_target(output, arguments.force || go_on);
    check_log(output, arguments.force);
  }
  const std::uint64_t start = now_ns();
  const std::shared_ptr<const Source> source = open_source(arguments.from, arguments.about);
  for (const std::string& text : source->warnings()) shell.warn(text);
  const std::vector<WrittenPart> written = write_parts(source, parts, arguments, shell);
  if (shell.json) {
    print_as_json(written, arguments, source->count(), static_cast<double>(now_ns() - start) / 1e9,
                  shell);
  } else {
    print_parts(written, source->count(), shell);
  }
  const bool refused = std::any_of(written.begin(), written.end(), [](const WrittenPart& part) {
    return !part.report.refused.empty();
  });
  return refused && !arguments.skip_bad ? kDamaged : kOk;
}

}  // namespace tundish::cli
