// tundish merge: combines several packs into one.
#include "data/source/views/merge.h"

#include <fmt/format.h>

#include <numeric>

#include "base/clock.h"
#include "cli/json.h"
#include "cli/pack/log.h"
#include "cli/pack/report.h"
#include "cli/pack/write_pack.h"
#include "cli/text.h"
#include "cli/verbs.h"
#include "data/pack/open.h"

namespace tundish::cli {
namespace {

constexpr VerbHelp kHelp = {
    .verb = "merge",
    .usage = "SRC... -o OUT.tnd [options]",
    .examples = R"(tundish merge a.tnd b.tnd -o both.tnd
tundish merge part-*.tnd -o all.tnd --rename)",
    .text = R"(Writes one pack from several, in the given order. All sources must have the same
fields. Classes are joined by name: classes of the first pack keep their numbers, new
classes follow, and labels are renumbered. If a key occurs twice, that is an error; with
--rename, the later sample becomes NAME-2.jpg. Records are copied unchanged. Re-coded
JPEGs (lanes) are copied if they use the most common tables. Other lanes are coded
again, without loss, and counted. A record that would grow by more than a tenth becomes
the original JPEG. SRC may also be a folder, list or archive, which is packed as by
tundish pack.)",
    .json = R"({output, samples, copied, file_bytes, id, refused, doubtful, recoded, kept_as_jpeg,
classes, relabeled, renamed, log, seconds}; recoded: lanes records whose tables
differed, and JPEGs of other sources; kept_as_jpeg: those that lanes records would
have made larger, or that cannot be re-coded; relabeled: samples whose label has
another number now; renamed is an array of {file, key, now})"};

constexpr std::size_t kShown = 10;  // renamed keys listed on stderr

Json renamed_json(const Merge& merge, const std::vector<std::string>& from) {
  Json out = Json::array();
  for (const Merge::Renamed& renamed : merge.renamed) {
    Json row;
    row["file"] = json_text(from[renamed.part]);
    put_key(row, renamed.before);
    row["now"] = json_text(renamed.now);
    out.push_back(std::move(row));
  }
  return out;
}

void tell(const Merge& merge, const Shell& shell) {
  for (std::size_t n = 0; n < merge.renamed.size() && n < kShown; ++n) {
    shell.message("renamed", fmt::format("{} is {} now", printable(merge.renamed[n].before),
                                         printable(merge.renamed[n].now)));
  }
  if (merge.renamed.size() > kShown) {
    shell.message("renamed", with_commas(merge.renamed.size() - kShown) + " more");
  }
}

std::uint64_t kept_as_jpeg(const PackReport& report) {
  return std::accumulate(std::begin(report.lanes.unfit), std::end(report.lanes.unfit),
                         std::uint64_t{0});
}

std::string summary(const std::string& target, const PackReport& report, const Merge& merge) {
  std::string out = fmt::format("{}  {}, {}, {} copied", printable(target),
                                bytes_text(static_cast<double>(report.file_bytes)),
                                counted(report.samples, "sample"), with_commas(report.copied));
  if (report.lanes.images > 0) {
    out += fmt::format(", {} coded again", with_commas(report.lanes.images));
  }
  if (kept_as_jpeg(report) > 0) {
    out += fmt::format(", {} kept as JPEG", with_commas(kept_as_jpeg(report)));
  }
  if (merge.relabeled > 0) out += fmt::format(", {} relabeled", with_commas(merge.relabeled));
  if (!merge.renamed.empty()) out += fmt::format(", {} renamed", with_commas(merge.renamed.size()));
  return out;
}

}  // namespace

int run_merge(const Args& args, Shell& shell) {
  std::vector<std::string> from;
  std::string target;
  bool force = false, rename = false, skip_bad = false;
  std::uint64_t threads = 0;
  Arguments arguments(kHelp, shell);
  arguments.positionals(from, "SRC", "packs, or other sources");
  arguments.option(target, "-o,--output", "FILE", "the pack to write", true);
  arguments.flag(rename, "--rename", "rename a sample whose key is already used");
  arguments.flag(force, "-f,--force", "replace FILE if it exists");
  arguments.flag(skip_bad, "--skip-bad", "exit code 0 despite refused samples");
  add_threads(arguments, threads);
  if (!arguments.parse(args)) return kOk;
  check_target(target, force);
  check_log(target, force);

  const std::uint64_t start = now_ns();
  std::vector<std::shared_ptr<const Source>> sources;
  for (const std::string& path : from) sources.push_back(open_source(path));
  const Merge merge = merge_sources(sources, rename);
  tell(merge, shell);
  PackOptions options;
  options.threads = static_cast<int>(threads);
  options.replace = force;
  options.copy_records = true;
  const PackReport report = write_pack(target, *merge.source, options, "merging", shell);
  const std::string log = write_log(target, report, force, shell);
  warn_of_samples(report, *merge.source, skip_bad, shell);
  if (shell.json) {
    Json out;
    out["output"] = json_text(target);
    put_pack(out, report);
    out["recoded"] = report.lanes.images;
    out["kept_as_jpeg"] = kept_as_jpeg(report);
    out["classes"] = merge.source->schema().classes.size();
    out["relabeled"] = merge.relabeled;
    out["renamed"] = renamed_json(merge, from);
    out["log"] = log.empty() ? Json() : Json(json_text(log));
    out["seconds"] = static_cast<double>(now_ns() - start) / 1e9;
    print_json(shell, out);
  } else {
    shell.line("done", summary(target, report, merge));
  }
  return report.refused.empty() || skip_bad ? kOk : kDamaged;
}

}  // namespace tundish::cli
