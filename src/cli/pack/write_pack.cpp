#include "cli/pack/write_pack.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

#include "cli/arguments.h"
#include "cli/pack/report.h"
#include "cli/progress.h"
#include "data/pack/write/journal.h"
#include "data/source/unknown_count.h"

namespace tundish::cli {

void check_target(const std::string& target, bool force) {
  struct stat status{};
  if (::lstat(target.c_str(), &status) != 0) return;
  if (S_ISDIR(status.st_mode)) {
    throw UsageError(fmt::format("{} is a folder; give the name of a file", printable(target)));
  }
  if (force) return;
  remove_left_journal(target);
  throw Error(ErrorCode::output_exists, {.file = target}, "");
}

void check_fields(const Source& source) {
  const std::vector<Field>& fields = source.schema().fields;
  const auto is_label = [](const Field& field) { return field.type == FieldType::label; };
  if (fields.empty() || !std::all_of(fields.begin(), fields.end(), is_label)) return;
  std::string reason = "its samples have labels and nothing else, so nothing can be trained on";
  for (const std::string& text : source.warnings()) reason += "; " + text;
  throw Error(ErrorCode::source_empty, {.file = source.path()}, reason);
}

std::function<void(const Resumption&)> resumption_message(const std::string& target,
                                                          const Source& source,
                                                          const Shell& shell) {
  return [target, &source, &shell](const Resumption& resumption) {
    if (resumption.why_not.empty()) {
      const std::string of =
          count_known(source) ? " of " + with_commas(resumption.samples_total) : "";
      shell.message("resumed", fmt::format("at record {}{}", with_commas(resumption.samples), of));
    } else {
      shell.warn(fmt::format("an interrupted pack of {} cannot go on, it starts over: {}",
                             printable(target), resumption.why_not));
    }
  };
}

PackReport write_pack(const std::string& target, const Source& source, PackOptions options,
                      const char* word, const Shell& shell) {
  Progress progress(shell, word, "img");
  options.progress = [&](const PackProgress& now) {
    progress.show({.items = now.samples,
                   .items_total = now.samples_total,
                   .bytes = now.bytes,
                   .bytes_total = now.bytes_total});
  };
  options.stop = &stop_flag();
  options.resumed = resumption_message(target, source, shell);
  return pack(target, source, options);
}

void put_pack(Json& into, const PackReport& report) {
  into["samples"] = report.samples;
  into["copied"] = report.copied;
  into["file_bytes"] = report.file_bytes;
  into["id"] = report.id;
  into["refused"] = refusals_json(report.refused);
  into["doubtful"] = refusals_json(report.doubtful);
}

}  // namespace tundish::cli
