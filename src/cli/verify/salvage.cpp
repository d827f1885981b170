#include "cli/verify/salvage.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "cli/json.h"
#include "cli/pack/write_pack.h"
#include "cli/progress.h"
#include "cli/text.h"
#include "data/pack/reader.h"
#include "data/pack/salvage/partial_pack.h"
#include "data/pack/salvage/salvage.h"

namespace tundish::cli {
namespace {

constexpr std::size_t kShown = 50;  // lines of losses in text output; JSON lists all

struct Found {
  Salvage salvage;
  std::uint64_t names_lost = 0, labels_lost = 0;
};

// Returns all losses, including records whose checksum failed during the copy.
std::vector<LostRecords> all_lost(const Salvage& salvage, const std::vector<FoundRecord>& records,
                                  const PackReport& report) {
  std::vector<LostRecords> out = salvage.lost;
  for (const Refusal& refusal : report.refused) {
    out.push_back({records[refusal.sample].number, 1, refusal.text});
  }
  std::sort(out.begin(), out.end(),
            [](const LostRecords& a, const LostRecords& b) { return a.first < b.first; });
  return out;
}

std::string lost_line(const LostRecords& lost) {
  const std::string reason = json_text(lost.reason.substr(0, lost.reason.find('\n')));
  if (lost.count == 1) return fmt::format("record {}: {}", with_commas(lost.first), reason);
  return fmt::format("records {} to {}: {}", with_commas(lost.first),
                     with_commas(lost.first + lost.count - 1), reason);
}

void print_result(const std::string& target, const PackReport& report, const Found& found,
                  const std::vector<LostRecords>& lost, const Shell& shell) {
  for (const std::string& part : found.salvage.parts)
    shell.print(fmt::format("  damaged: {}\n", part));
  for (std::size_t n = 0; n < lost.size() && n < kShown; ++n) {
    shell.print(fmt::format("  lost: {}\n", lost_line(lost[n])));
  }
  if (lost.size() > kShown) {
    shell.print(
        fmt::format("  and {} more; --json lists all\n", with_commas(lost.size() - kShown)));
  }
  std::uint64_t records = 0;
  for (const LostRecords& part : lost) records += part.count;
  std::string text = fmt::format("{}  {}, {}", printable(target),
                                 bytes_text(static_cast<double>(report.file_bytes)),
                                 counted(report.samples, "record"));
  const bool known =
      found.salvage.count || records > 0 || found.salvage.method == SalvageMethod::journal;
  text +=
      known ? fmt::format("; {} lost", with_commas(records)) : "; how many there were is not known";
  if (found.names_lost > 0) {
    text += fmt::format("; {} without their names", with_commas(found.names_lost));
  }
  if (found.labels_lost > 0) {
    text += fmt::format("; {} without their labels", with_commas(found.labels_lost));
  }
  shell.line("done", text);
  if (const std::uint64_t shards = found.salvage.finished_shards) {
    shell.line("shards",
               fmt::format("{} before this one {} finished: {} of {} own", with_commas(shards),
                           shards == 1 ? "is" : "are", shards == 1 ? "a pack" : "packs",
                           shards == 1 ? "its" : "their"));
  }
}

const char* method_name(SalvageMethod method) {
  return method == SalvageMethod::index  ? "index"
         : method == SalvageMethod::scan ? "scan"
                                         : "journal";
}

void print_as_json(const std::string& target, const PackReport& report, const Found& found,
                   const std::vector<LostRecords>& lost, double seconds, const Shell& shell) {
  Json out;
  out["output"] = json_text(target);
  put_pack(out, report);
  out["method"] = method_name(found.salvage.method);
  out["records_before"] = found.salvage.count ? Json(*found.salvage.count) : Json();
  out["lost_records"] = Json::array();
  for (const LostRecords& part : lost) {
    out["lost_records"].push_back(
        Json{{"first", part.first}, {"count", part.count}, {"reason", json_text(part.reason)}});
  }
  out["lost_parts"] = Json::array();
  for (const std::string& part : found.salvage.parts) out["lost_parts"].push_back(json_text(part));
  out["names_lost"] = found.names_lost;
  out["labels_lost"] = found.labels_lost;
  out["finished_shards"] = found.salvage.finished_shards;
  out["seconds"] = seconds;
  print_json(shell, out);
}

Error nothing_written(const std::string& from, std::uint64_t finished_shards) {
  std::string reason = "the pack was interrupted before a record was written";
  if (finished_shards > 0) {
    reason = fmt::format(
        "its first {} shards are finished, packs of their own; of the next one the pack was "
        "interrupted before a record was written",
        with_commas(finished_shards));
  }
  return Error(ErrorCode::nothing_salvaged, {.file = from}, std::move(reason));
}

Salvage find_interrupted(const InterruptedPack& pack, const std::string& from,
                         const SalvageOptions& options) {
  if (auto found = find_partial_records(pack.partial, *pack.journal, options)) {
    if (found->records.empty() && found->lost.empty()) {
      throw nothing_written(from, found->finished_shards);
    }
    return std::move(*found);
  }
  try {
    return find_records(pack.partial, options);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_a_pack) throw;
    throw nothing_written(from, 0);
  }
}

Found find(const std::shared_ptr<const ByteFile>& file,
           const std::optional<InterruptedPack>& interrupted, const std::string& from,
           const std::string& like, const Shell& shell) {
  std::shared_ptr<const Pack> pack;
  if (!like.empty()) pack = Pack::open(like);
  Progress progress(shell, "searching", "img");
  SalvageOptions options{.like = pack.get(), .progress = {}};
  options.progress = [&](std::uint64_t bytes, std::uint64_t all) {
    progress.show({.bytes = bytes, .bytes_total = all});
  };
  Found out{.salvage = interrupted ? find_interrupted(*interrupted, from, options)
                                   : find_records(file, options)};
  for (const FoundRecord& record : out.salvage.records) {
    out.names_lost += record.key_is_lost;
    out.labels_lost += record.label_is_lost;
  }
  return out;
}

void check_any_found(const Salvage& found, const std::string& from) {
  if (!found.records.empty()) return;
  std::string reason = "no record is intact";
  if (!found.lost.empty()) {
    reason += "; " + lost_line(found.lost.front());
  } else if (!found.parts.empty()) {
    reason += "; " + found.parts.back();
  }
  throw Error(ErrorCode::nothing_salvaged, {.file = from}, std::move(reason));
}

PackReport copy_records(const std::string& target, const Source& source, const std::string& from,
                        const PackOptions& options, const Shell& shell) {
  try {
    return write_pack(target, source, options, "copying", shell);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::source_empty) throw;
    throw Error(ErrorCode::nothing_salvaged, {.file = from}, error.reason());
  }
}

bool nothing_is_lost(const Found& found, const std::vector<LostRecords>& lost) {
  const Salvage& salvage = found.salvage;
  return lost.empty() && found.names_lost == 0 && found.labels_lost == 0 &&
         !salvage.fields_are_lost && (salvage.count || salvage.method == SalvageMethod::journal);
}

}  // namespace

int salvage(const std::string& from, const SalvageArguments& arguments, const Shell& shell) {
  const std::string& target = arguments.target;
  check_target(target, arguments.force);
  const std::uint64_t start = now_ns();
  const auto interrupted = find_interrupted_pack(from);
  std::shared_ptr<const ByteFile> file;
  if (interrupted) {
    file = interrupted->partial;
  } else {
    file = std::make_shared<DiskBytes>(File::open(from));
  }
  const Found found = find(file, interrupted, from, arguments.like, shell);
  check_any_found(found.salvage, from);
  const auto source = salvaged_source(file, found.salvage);
  PackOptions options;
  options.threads = static_cast<int>(arguments.threads);
  options.replace = arguments.force;
  options.copy_records = true;
  const PackReport report = copy_records(target, *source, from, options, shell);
  const auto lost = all_lost(found.salvage, found.salvage.records, report);
  const double seconds = static_cast<double>(now_ns() - start) / 1e9;
  if (shell.json) {
    print_as_json(target, report, found, lost, seconds, shell);
  } else if (!shell.quiet) {
    print_result(target, report, found, lost, shell);
  }
  return nothing_is_lost(found, lost) ? kOk : kDamaged;
}

}  // namespace tundish::cli
