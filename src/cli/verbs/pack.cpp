// tundish pack: packs any source into .tnd files.
#include <fmt/format.h>
#include <malloc.h>

#include <cstdio>

#include "cli/json.h"
#include "cli/pack/collect_shards.h"
#include "cli/pack/log.h"
#include "cli/pack/pack_arguments.h"
#include "cli/pack/preprocessing.h"
#include "cli/pack/report.h"
#include "cli/pack/sockets_to_python.h"
#include "cli/pack/write_pack.h"
#include "cli/progress.h"
#include "cli/text.h"
#include "cli/verbs.h"
#include "data/pack/open.h"
#include "data/pack/write/writer.h"
#include "data/source/formats/python/python_samples.h"
#include "data/source/unknown_count.h"
#include "rewrite/convert/image_files.h"

namespace tundish::cli {
namespace {

// Prints a JSON line for a program that displays the progress. Ignores failed writes.
void print_progress(const PackProgress& now) {
  const Json line{{"progress",
                   {{"samples", now.samples},
                    {"samples_total", now.samples_total},
                    {"bytes", now.bytes},
                    {"bytes_total", now.bytes_total},
                    {"refused", now.refused}}}};
  std::fputs((line.dump() + "\n").c_str(), stderr);
}

PackReport pack_with_progress(const PackArguments& arguments, const Preprocessing& preprocessing,
                              const Source& source, Progress& progress, const Shell& shell) {
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
  options.preprocessor = preprocessing.preprocessor();
  options.progress = show;
  options.stop = &stop_flag();
  options.resumed = resumption_message(output_of(arguments), source, shell);
  if (arguments.shard_bytes > 0) return pack_shards(arguments.target, source, options);
  return pack(output_of(arguments), source, options);
}

// Combines separately packed shards into one dataset.
int run_manifest(const PackArguments& arguments, Shell& shell) {
  const Manifest manifest = collect_shards(arguments.target, arguments.from);
  write_manifest(arguments.target, manifest, arguments.force);
  if (shell.json) print_json(shell, manifest_report(arguments.target, manifest));
  std::uint64_t records = 0, bytes = 0;
  for (const Shard& shard : manifest.shards) {
    records += shard.records;
    bytes += shard.bytes;
  }
  shell.line("done",
             fmt::format("{}  {}, {}, {}", printable(arguments.target),
                         counted(manifest.shards.size(), "shard"),
                         bytes_text(static_cast<double>(bytes)), counted(records, "sample")));
  return kOk;
}

}  // namespace

int run_pack(const Args& args, Shell& shell) {
  // Makes freed memory of this size return to the system instead of staying with a thread.
  ::mallopt(M_MMAP_THRESHOLD, 4 << 20);
  PackArguments arguments;
  if (!parse(arguments, args, shell)) return kOk;
  const std::string target = output_of(arguments);
  Preprocessing preprocessing(arguments.preprocess);
  check_target(target, arguments.force);
  if (arguments.manifest) return run_manifest(arguments, shell);
  check_log(target, arguments.force);

  const std::vector<int> sockets = sockets_to_python();
  const std::shared_ptr<const Source> all = sockets.empty()
                                                ? open_source(arguments.from[0], arguments.about)
                                                : open_python_samples(arguments.from[0], sockets);
  const Chosen chosen =
      choose_samples(all, arguments.choice, arguments.threads, arguments.progress == "auto", shell);
  const std::shared_ptr<const Source> source =
      preprocessing.preprocessor() ? as_image_files(chosen.source) : chosen.source;
  check_fields(*source);
  preprocessing.check(*source, shell);
  PackReport report;
  for (std::uint64_t i = 0; source->sizes_known() && i < source->count(); ++i) {
    report.source_bytes += source->bytes(i);
  }
  shell.message("reading", describe_source(*source, report.source_bytes));
  for (const std::string& text : source->warnings()) shell.warn(text);
  if (arguments.dry_run) {
    report.samples = count_known(*source) ? source->count() : 0;
    if (shell.json) {
      Json out = report_json(target, *source, report, 0, "", true);
      out["chosen"] = choice_json(arguments.choice, chosen, *all);
      preprocessing.add_to(out, report);
      print_json(shell, out);
    }
    shell.line("dry run", fmt::format("{} is not written", printable(target)));
    return kOk;
  }

  Progress progress(shell, "packing", "img");
  report = pack_with_progress(arguments, preprocessing, *source, progress, shell);
  progress.wipe();
  const double seconds = progress.seconds();
  const std::string log = write_log(target, report, arguments.force, shell);
  warn_of_samples(report, *source, arguments.skip_bad, shell);
  preprocessing.prove(target, source, report);
  if (shell.json) {
    Json out = report_json(target, *source, report, seconds, log, false);
    out["chosen"] = choice_json(arguments.choice, chosen, *all);
    preprocessing.add_to(out, report);
    print_json(shell, out);
  } else {
    print_summary(target, report, arguments.strip, seconds, log, shell);
    preprocessing.print(report, shell);
  }
  if (preprocessing.is_disproved()) return kFailed;
  return report.refused.empty() || arguments.skip_bad ? kOk : kDamaged;
}

}  // namespace tundish::cli
