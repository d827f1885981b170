// tundish pack: any source into one .tnd file.
#include <fmt/format.h>
#include <sys/stat.h>

#include <cstdio>

#include "cli/json.h"
#include "cli/pack/log.h"
#include "cli/pack/pack_arguments.h"
#include "cli/pack/report.h"
#include "cli/progress.h"
#include "cli/verbs.h"
#include "pack/open.h"
#include "pack/write/writer.h"

namespace tundish::cli {
namespace {

// Before a long listing of the source, not after it.
void check_target(const std::string& target, bool force) {
  struct stat status{};
  if (::lstat(target.c_str(), &status) != 0) return;
  if (S_ISDIR(status.st_mode)) {
    throw UsageError(fmt::format("{} is a folder; give the name of a file", printable(target)));
  }
  if (!force) throw Error(ErrorCode::output_exists, {.file = target}, "");
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

PackReport pack_with_progress(const PackArguments& arguments, const Source& source,
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
  PackOptions options = pack_options(arguments);
  options.progress = show;
  options.stop = &stop_flag();
  return pack(arguments.target, source, options);
}

}  // namespace

int run_pack(const Words& words, Shell& shell) {
  PackArguments arguments;
  if (!parse(arguments, words, shell)) return kOk;
  const std::string& target = arguments.target;
  check_target(target, arguments.force);
  check_log(target, arguments.force);

  const std::shared_ptr<const Source> source = open_source(arguments.from, arguments.about);
  PackReport report;
  for (std::uint64_t i = 0; i < source->count(); ++i) report.source_bytes += source->bytes(i);
  shell.message("reading", describe_source(*source, report.source_bytes));
  for (const std::string& text : source->warnings()) shell.warn(text);
  if (arguments.dry_run) {
    report.samples = source->count();
    if (shell.json) print_json(shell, report_json(target, *source, report, 0, "", true));
    shell.line("dry run", fmt::format("{} is not written", printable(target)));
    return kOk;
  }

  Progress progress(shell, "packing", "img");
  report = pack_with_progress(arguments, *source, progress);
  progress.wipe();
  const double seconds = progress.seconds();
  const std::string log = write_log(target, report, arguments.force, shell);
  warn_of_samples(report, shell);
  if (shell.json) {
    print_json(shell, report_json(target, *source, report, seconds, log, false));
  } else {
    print_summary(target, report, arguments.strip, seconds, log, shell);
  }
  return report.refused.empty() || arguments.skip_bad ? kOk : kDamaged;
}

}  // namespace tundish::cli
