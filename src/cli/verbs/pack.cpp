// tundish pack: any source into one .tnd file.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <initializer_list>
#include <string_view>

#include "cli/json.h"
#include "cli/pack/preprocessing.h"
#include "cli/progress.h"
#include "cli/text.h"
#include "cli/verbs.h"
#include "core/file.h"
#include "pack/open.h"
#include "pack/output_file.h"
#include "pack/write/writer.h"

namespace tundish::cli {
namespace {

constexpr VerbHelp kHelp = {
    .verb = "pack",
    .usage = "SRC -o OUT.tnd [options]",
    .examples = R"(tundish pack photos/ -o train.tnd
tundish pack list.csv -o train.tnd --skip-bad
tundish pack shard-000.tar -o train.tnd
tundish pack photos/ -o train.tnd --codec keep
tundish pack photos/ -o train256.tnd --resize shortest=256 --prove)",
    .text = R"(Packs a data set into one file that Tundish trains from. SRC is a folder
(SRC/CLASS/NAME.jpg), a .csv or .tsv list with a column 'path', a .tar (also
.gz, .xz, .zst, .bz2), or another pack. The same input gives the same bytes.
OUT.tnd appears when it is complete, never half. Files that cannot be read, are
empty or are not an image are refused: named here and in OUT.tnd.log, left out of
the pack, exit code 3. Broken images (a header without sense, a JPEG cut short or
damaged) are packed as they are, and named too; the exit code does not change.
PNGs, and JPEGs with --codec keep, are not decoded here: tundish verify --pixels
decodes every image.
A file OUT.tnd.log that pack did not write is replaced with --force only.

JPEGs are re-coded without loss ("lanes"): smaller, and several times faster to
decode. Each is proven to come back byte for byte before it is written; one that
cannot be is kept as a JPEG and counted by reason.

--resize, --center-crop and --reencode do once what training does in every epoch;
an image that would be enlarged or would take more bytes stays as it came. --prove
compares with the same work on line: exit code 1 if raw or PNG records differ.)",
    .json = R"({output, samples, source_bytes, file_bytes, kept_as_they_came, codecs, refused,
doubtful, warnings, id, seconds, log, dry_run, lanes, preprocess, proof}; refused
and doubtful are arrays of {sample, key, code, message}, sample counts SRC, also what
is refused; codecs counts the records of each kind; kept_as_they_came: images in a
format that cannot be decoded; null with --dry-run: file_bytes, id, log; lanes is
{images, jpeg_bytes, record_bytes, restore_bytes, trained_on, kept}, kept counts by
reason the JPEGs that were not re-coded; preprocess is {options, changed, kept,
kept_smaller, bytes_before, bytes_after} or null; proof is null without --prove;
docs/preprocess.md explains both.
--progress json prints lines of {"progress": {samples, samples_total, bytes,
bytes_total, refused}} on stderr; a total of 0 is not known)"};

constexpr std::size_t kShown = 10;  // of refused files, and of broken images, named on stderr
constexpr const char* kLogHead = "# refused by tundish pack";

bool is_our_log(const std::string& path) {
  std::string first(std::string_view(kLogHead).size(), ' ');
  try {
    File::open(path).read_at(std::as_writable_bytes(std::span(first)), 0);
  } catch (const Error&) {
    return false;  // there is none
  }
  return first == kLogHead;
}

// The log belongs to the pack beside it: written again, or removed when there is nothing to report.
// A file that is no such log stays unless `force`. Returns its name, or empty.
std::string write_log(const std::string& target, const PackReport& report, bool force,
                      const Shell& shell) {
  const std::string path = target + ".log";
  if (report.refused.empty() && report.doubtful.empty()) {
    if (is_our_log(path)) ::unlink(path.c_str());
    return {};
  }
  std::string text = fmt::format("{}: {} of {} samples\n", kLogHead, report.refused.size(),
                                 report.refused.size() + report.samples);
  for (const Refusal& refusal : report.refused) text += refusal.text + '\n';
  for (const Refusal& sample : report.doubtful) text += "packed, but broken: " + sample.text + '\n';
  try {
    OutputFile log(path, force || is_our_log(path));
    log.write_at(std::as_bytes(std::span(text)), 0);
    log.commit(text.size());
  } catch (const Error& error) {
    shell.warn(fmt::format("{} could not be written: {}", printable(path), error.what()));
    return {};
  }
  return path;
}

void name_some(const char* what, const std::vector<Refusal>& samples, const Shell& shell) {
  for (std::size_t i = 0; i < samples.size() && i < kShown; ++i) {
    shell.warn(fmt::format("{}: {}", what, samples[i].text));
  }
  if (samples.size() > kShown) {
    shell.warn(fmt::format("{}: {} more", what, with_commas(samples.size() - kShown)));
  }
}

// "image folder, 10 classes, 1,234 files, 140.2 MB"
std::string describe(const Source& source, std::uint64_t bytes) {
  const Schema& schema = source.schema();
  std::string out = printable(schema.source);
  if (!schema.classes.empty())
    out += fmt::format(", {} classes", with_commas(schema.classes.size()));
  if (source.count() > 0) out += fmt::format(", {} samples", with_commas(source.count()));
  if (bytes > 0) out += fmt::format(", {}", bytes_text(static_cast<double>(bytes)));
  return out;
}

std::string codecs_text(const PackReport& report) {
  std::string out;
  for (std::size_t codec = 0; codec < std::size(report.samples_by_codec); ++codec) {
    const std::uint64_t count = report.samples_by_codec[codec];
    if (count == 0) continue;
    const auto kind = static_cast<Codec>(codec);
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", with_commas(count),
                       kind == Codec::unknown ? "kept as they came" : codec_name(kind));
  }
  return out;
}

Json refusals_json(const std::vector<Refusal>& samples) {
  Json out = Json::array();
  for (const Refusal& sample : samples) {
    Json row;
    row["sample"] = sample.sample;
    put_key(row, sample.key);
    row["code"] = error_name(sample.code);
    row["message"] = json_text(sample.text);
    out.push_back(std::move(row));
  }
  return out;
}

Json lanes_json(const LanesReport& report) {
  Json out{{"images", report.images},
           {"jpeg_bytes", report.jpeg_bytes},
           {"record_bytes", report.record_bytes},
           {"restore_bytes", report.restore_bytes},
           {"trained_on", report.trained_on},
           {"kept", Json::object()}};
  for (std::size_t i = 1; i < lanes::kUnfits; ++i) {
    if (report.unfit[i] > 0)
      out["kept"][lanes::unfit_name(static_cast<lanes::Unfit>(i))] = report.unfit[i];
  }
  return out;
}

// "96 JPEGs re-coded to 0.937x, every file restores byte for byte; 2 kept as JPEG (CMYK 2)"
std::string lanes_text(const LanesReport& report, bool stripped) {
  std::string out;
  if (report.images > 0) {
    const auto now = static_cast<double>(report.record_bytes + report.restore_bytes);
    out = fmt::format("{} JPEGs re-coded to {:.3f}x their bytes, {}", with_commas(report.images),
                      now / static_cast<double>(report.jpeg_bytes),
                      stripped ? "without their metadata" : "every file restores byte for byte");
  }
  std::string kept;
  std::uint64_t count = 0;
  for (std::size_t i = 1; i < lanes::kUnfits; ++i) {
    if (report.unfit[i] == 0) continue;
    count += report.unfit[i];
    kept +=
        fmt::format("{}{} {}", kept.empty() ? "" : ", ",
                    lanes::unfit_name(static_cast<lanes::Unfit>(i)), with_commas(report.unfit[i]));
  }
  if (count > 0)
    out += fmt::format("{}{} kept as JPEG ({})", out.empty() ? "" : "; ", with_commas(count), kept);
  return out;
}

// "0.95" and the like; throws UsageError.
double number_of(const std::string& text, const char* option) {
  double value = 0;
  const auto end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || at != end || !(value > 0 && value <= 100)) {
    throw UsageError(
        fmt::format("{} wants a number such as 1.10, not '{}'", option, printable(text)));
  }
  return value;
}

Json report_json(const std::string& target, const Source& source, const PackReport& report,
                 double seconds, const std::string& log, bool dry_run,
                 const Preprocessing& preprocessing) {
  Json out;
  out["output"] = json_text(target);
  out["samples"] = report.samples;
  out["source_bytes"] = report.source_bytes;
  out["file_bytes"] = dry_run ? Json() : Json(report.file_bytes);
  out["kept_as_they_came"] = report.kept_as_they_came;
  out["codecs"] = Json::object();
  for (std::size_t codec = 0; codec < std::size(report.samples_by_codec); ++codec) {
    if (report.samples_by_codec[codec] == 0) continue;
    out["codecs"][codec_name(static_cast<Codec>(codec))] = report.samples_by_codec[codec];
  }
  out["lanes"] = lanes_json(report.lanes);
  out["refused"] = refusals_json(report.refused);
  out["doubtful"] = refusals_json(report.doubtful);
  out["warnings"] = Json::array();
  for (const std::string& text : source.warnings()) out["warnings"].push_back(json_text(text));
  out["id"] = dry_run ? Json() : Json(report.id);
  out["seconds"] = seconds;
  out["log"] = log.empty() ? Json() : Json(json_text(log));
  out["dry_run"] = dry_run;
  preprocessing.add_to(out, report);
  return out;
}

// Before a long listing of the source, not after it.
void check_target(const std::string& target, bool force) {
  struct stat status{};
  if (::lstat(target.c_str(), &status) != 0) return;
  if (S_ISDIR(status.st_mode)) {
    throw UsageError(fmt::format("{} is a folder; give the name of a file", printable(target)));
  }
  if (!force) throw Error(ErrorCode::output_exists, {.file = target}, "");
}

// The log may replace an older log, and nothing else unless `force`.
void check_log(const std::string& target, bool force) {
  const std::string path = target + ".log";
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0 || is_our_log(path)) return;
  if (S_ISDIR(status.st_mode)) {
    throw UsageError(fmt::format("{} is a folder; refused files are named in a file of that name",
                                 printable(path)));
  }
  if (!force) {
    throw Error(ErrorCode::output_exists, {.file = path},
                "refused files are named in a file of that name, and this is no log of "
                "tundish pack");
  }
}

struct PackArguments {
  std::string from, target;
  bool force = false, skip_bad = false, dry_run = false, strip = false;
  std::uint64_t threads = 0;
  std::string codec = "lanes", tables = "auto", growth = "1.10", progress = "auto";
  PreprocessArguments preprocess;
};

void check_choice(const char* option, const std::string& value,
                  std::initializer_list<std::string_view> choices) {
  if (std::find(choices.begin(), choices.end(), value) != choices.end()) return;
  throw UsageError(
      fmt::format("{} is one of {}, not '{}'", option, fmt::join(choices, ", "), printable(value)));
}

// False when only help was asked for.
bool parse(PackArguments& out, const Words& words, Shell& shell) {
  Arguments arguments(kHelp, shell);
  arguments.word(out.from, "SRC", "a folder, list, archive or pack");
  arguments.option(out.target, "-o,--output", "FILE", "the pack to write", true);
  arguments.flag(out.force, "-f,--force", "replace FILE if it exists, and FILE.log");
  arguments.flag(out.skip_bad, "--skip-bad", "refused files are no failure: exit code 0");
  arguments.flag(out.dry_run, "-n,--dry-run", "look at the source only, write nothing");
  arguments.option(out.codec, "--codec", "C", "lanes (default): re-code JPEGs; keep: as they came");
  arguments.option(out.tables, "--tables", "T", "of lanes: train, builtin, or auto (default)");
  arguments.option(out.growth, "--max-growth", "X", "keep a JPEG that would grow by more (1.10)");
  arguments.flag(out.strip, "--strip-metadata", "drop EXIF, ICC and comments: no exact restore");
  arguments.option(out.progress, "--progress", "P",
                   "auto (default): on a terminal; never; json: on stderr");
  add_preprocess_options(arguments, out.preprocess);
  add_threads(arguments, out.threads);
  if (!arguments.parse(words)) return false;
  if (out.target.empty()) throw UsageError("the name after -o is empty");
  check_choice("--codec", out.codec, {"lanes", "keep"});
  check_choice("--tables", out.tables, {"train", "builtin", "auto"});
  check_choice("--progress", out.progress, {"auto", "never", "json"});
  return true;
}

// A line of JSON, for a program that shows the progress itself. A failed write changes nothing.
void print_progress(const PackProgress& now) {
  const Json line{{"progress",
                   {{"samples", now.samples},
                    {"samples_total", now.samples_total},
                    {"bytes", now.bytes},
                    {"bytes_total", now.bytes_total},
                    {"refused", now.refused}}}};
  std::fputs((line.dump() + "\n").c_str(), stderr);
}

PackReport pack_with_progress(const PackArguments& arguments, double max_growth,
                              const Preprocessing& preprocessing, const Source& source,
                              Progress& progress) {
  const auto show = [&](const PackProgress& now) {
    if (arguments.progress == "never") return;
    if (arguments.progress == "json") return print_progress(now);
    std::string remark;
    if (now.refused > 0) remark = with_commas(now.refused) + " refused";
    progress.show({.items = now.samples,
                   .items_total = now.samples_total,
                   .bytes = now.bytes,
                   .bytes_total = now.bytes_total},
                  remark);
  };
  return pack(arguments.target, source,
              {.preprocessor = preprocessing.preprocessor(),
               .threads = static_cast<int>(arguments.threads),
               .replace = arguments.force,
               .lanes = arguments.codec == "lanes",
               .tables = arguments.tables == "train"     ? LanesTables::train
                         : arguments.tables == "builtin" ? LanesTables::builtin
                                                         : LanesTables::automatic,
               .max_growth = max_growth,
               .strip_metadata = arguments.strip,
               .limits = {},
               .progress = show,
               .stop = &stop_flag()});
}

void warn_of_samples(const PackReport& report, const Shell& shell) {
  name_some("refused", report.refused, shell);
  name_some("packed, but broken", report.doubtful, shell);
  if (report.kept_as_they_came == 0) return;
  shell.warn(
      fmt::format("{} of {} images are in a format that cannot be decoded: unpack restores them, a "
                  "loader leaves them out (tundish explain TND-402)",
                  with_commas(report.kept_as_they_came), with_commas(report.samples)));
}

void print_summary(const PackArguments& arguments, const PackReport& report, double seconds,
                   const std::string& log, const Preprocessing& preprocessing, const Shell& shell) {
  const std::string& target = arguments.target;
  shell.line("done",
             fmt::format("{}  {}, {} samples ({}) in {}", printable(target),
                         bytes_text(static_cast<double>(report.file_bytes)),
                         with_commas(report.samples), codecs_text(report), duration_text(seconds)));
  preprocessing.print(report, shell);
  const std::string recoded = lanes_text(report.lanes, arguments.strip);
  if (!recoded.empty()) shell.line("lanes", recoded);
  const std::string named = log.empty() ? "" : ", all named in " + printable(log);
  if (!report.refused.empty()) shell.line("refused", with_commas(report.refused.size()) + named);
  if (!report.doubtful.empty()) {
    shell.line("broken",
               fmt::format("{}, packed as they are{}", with_commas(report.doubtful.size()), named));
  }
  shell.line("next", fmt::format("tundish bench {}   |   for x, y in tundish.Loader(\"{}\", "
                                 "batch_size=256, ...): ...",
                                 quoted_for_shell(target), printable(target)));
}

}  // namespace

int run_pack(const Words& words, Shell& shell) {
  PackArguments arguments;
  if (!parse(arguments, words, shell)) return kOk;
  const std::string& target = arguments.target;
  const double max_growth = number_of(arguments.growth, "--max-growth");
  Preprocessing preprocessing(arguments.preprocess);
  check_target(target, arguments.force);
  check_log(target, arguments.force);
  const std::shared_ptr<const Source> source = open_source(arguments.from);
  preprocessing.check(*source);
  PackReport report;
  for (std::uint64_t i = 0; i < source->count(); ++i) report.source_bytes += source->bytes(i);
  shell.message("reading", describe(*source, report.source_bytes));
  for (const std::string& text : source->warnings()) shell.warn(text);
  if (arguments.dry_run) {
    report.samples = source->count();
    if (shell.json) {
      print_json(shell, report_json(target, *source, report, 0, "", true, preprocessing));
    }
    shell.line("dry run", fmt::format("{} is not written", printable(target)));
    return kOk;
  }

  Progress progress(shell, "packing", "img");
  report = pack_with_progress(arguments, max_growth, preprocessing, *source, progress);
  progress.wipe();
  const double seconds = progress.seconds();
  const std::string log = write_log(target, report, arguments.force, shell);
  warn_of_samples(report, shell);
  preprocessing.prove(target, source, report);
  if (shell.json) {
    print_json(shell, report_json(target, *source, report, seconds, log, false, preprocessing));
  } else {
    print_summary(arguments, report, seconds, log, preprocessing, shell);
  }
  if (preprocessing.is_disproved()) return kFailed;
  return report.refused.empty() || arguments.skip_bad ? kOk : kDamaged;
}

}  // namespace tundish::cli
