// tundish verify: checks every byte of a pack against its checksums. --pixels decodes every image;
// --salvage copies the intact records.
#include <fmt/format.h>

#include <algorithm>

#include "base/machine/usable_cpus.h"
#include "cli/error_lines.h"
#include "cli/json.h"
#include "cli/progress.h"
#include "cli/text.h"
#include "cli/verbs.h"
#include "cli/verify/check_pixels.h"
#include "cli/verify/salvage.h"
#include "data/pack/manifest.h"
#include "data/pack/open.h"
#include "data/pack/reader.h"

namespace tundish::cli {
namespace {

constexpr VerbHelp kHelp = {
    .verb = "verify",
    .usage = "FILE [--pixels | --salvage OUT] [options]",
    .examples = R"(tundish verify train.tnd
tundish verify train.tnd --pixels
tundish verify train.tnds
tundish verify torn.tnd --salvage rest.tnd
tundish verify torn.tnd --salvage rest.tnd --like other-shard.tnd)",
    .text = R"(Checks every byte of a pack: each piece, the gaps, and the digest of the file. For a
manifest (.tnds), checks every shard, and that it is the shard that the manifest lists.
With --pixels, also decodes every image, which finds images that were broken before they
were packed. All damage is listed.

--salvage checks every record of a damaged or cut-off pack, copies the intact records
unchanged to a new pack, and lists what is lost. FILE is not changed. If the index is
lost, records are found by their checksums. Labels are then lost, except for image
folders whose names are intact. If the file is cut off before its metadata, the names,
the classes and all fields other than the image are lost too. --like takes them from a
pack with the same fields and the same tables, such as another shard. A file that is cut
off has also lost its tables. By default, tundish pack re-codes JPEGs with tables that
are stored in the pack, and these JPEGs can be restored only with --like.

FILE may also be the -o of an interrupted tundish pack (with --shard I/N, the name of
the part), or its .TARGET.partial. All records written so far are saved (with
--shard-size, the records of the unfinished shard). Names and labels come from the
journal next to it. Alternatively, run tundish pack again: it continues.)",
    .json = R"({file, ok, records, bytes, images_decoded, not_decodable, seconds, damage};
damage is an array of {code, message, title, file, record, key, offset, reason}

with --salvage --json:
{output, samples, copied, file_bytes, id, refused, doubtful, method, records_before,
lost_records, lost_parts, names_lost, labels_lost, finished_shards, seconds}; method is
index, scan or journal; records_before is null if unknown; lost_records is an array of
{first, count, reason}, where first is the number of a record in FILE; lost_parts lists
the damaged parts of the file; finished_shards lists the finished packs of an
interrupted run)",
    .exits =
        "0 done, 1 failed, 2 wrong use, 3 data damaged, 130 interrupted;\n"
        "with --salvage: 0 no record, name, label, class or field is lost, 3 something is lost,\n"
        "or that is unknown"};

constexpr std::size_t kShown = 50;  // lines of damage in text output; JSON lists all

using Packs = std::vector<std::shared_ptr<const Pack>>;  // one pack, or the shards of a manifest

std::uint64_t records_of(const Packs& packs) {
  std::uint64_t sum = 0;
  for (const auto& pack : packs) sum += pack->count();
  return sum;
}

std::uint64_t bytes_of(const Packs& packs) {
  std::uint64_t sum = 0;
  for (const auto& pack : packs) sum += pack->file_bytes();
  return sum;
}

void print_as_json(const PixelCheck& found, const std::string& file, const Packs& packs,
                   double seconds, const Shell& shell) {
  Json out;
  out["file"] = json_text(file);
  out["ok"] = found.damage.empty();
  out["records"] = packs.empty() ? Json() : Json(records_of(packs));
  out["bytes"] = packs.empty() ? Json() : Json(bytes_of(packs));
  out["images_decoded"] = found.decoded;
  out["not_decodable"] = found.not_decodable;
  out["seconds"] = seconds;
  out["damage"] = Json::array();
  for (const Error& error : found.damage) out["damage"].push_back(error_json(error));
  print_json(shell, out);
}

void print_damage(const PixelCheck& found, const std::string& file, const Shell& shell) {
  for (std::size_t i = 0; i < found.damage.size() && i < kShown; ++i) {
    shell.print(fmt::format("  {}\n", finding_line(found.damage[i])));
  }
  if (found.damage.size() > kShown) {
    shell.print(fmt::format("  and {} more; --json lists all\n",
                            with_commas(found.damage.size() - kShown)));
  }
  shell.line("damaged", fmt::format("{}  {} {}", printable(file), with_commas(found.damage.size()),
                                    found.damage.size() == 1 ? "finding" : "findings"));
  // A copy can omit a damaged record but not a damaged part of the file. It does not repair an
  // image that was broken before packing.
  const auto any = [&](auto&& is) {
    return std::any_of(found.damage.begin(), found.damage.end(), is);
  };
  const auto is_image = [](const Error& error) {
    return find_error(error.code()) && static_cast<int>(error.code()) / 100 == 4;
  };
  if (any([&](const Error& error) { return !is_image(error); })) {
    shell.line(
        "next",
        fmt::format(
            "copy the file again from where it was made, or pack it again; or: tundish verify "
            "{} --salvage OUT.tnd",
            quoted_for_shell(file)));
  }
  if (any([](const Error& error) { return error.where().record.has_value(); })) {
    shell.line("next", "Loader(..., on_error=\"skip\") trains without damaged records");
  }
}

void print_errors(const PixelCheck& found, const std::string& file, const Shell& shell) {
  for (std::size_t i = 0; i < found.damage.size() && i < kShown; ++i) shell.fail(found.damage[i]);
  if (found.damage.size() > kShown) {
    shell.fail(fmt::format("{}: and {} more; --json lists all", printable(file),
                           with_commas(found.damage.size() - kShown)),
               kDamaged);
  }
}

void print_ok(const PixelCheck& found, const std::string& file, const Packs& packs, bool pixels,
              double seconds, const Shell& shell) {
  const auto bytes = static_cast<double>(bytes_of(packs));
  std::string text =
      fmt::format("{}  {}, {}, every checksum is right ({}, {:.0f} MB/s)", printable(file),
                  counted(records_of(packs), "record"), bytes_text(bytes), duration_text(seconds),
                  bytes / 1e6 / std::max(seconds, 1e-9));
  if (pixels) text += fmt::format("; {} decoded", counted(found.decoded, "image"));
  if (found.not_decodable > 0) {
    text += fmt::format(", {} kept as they came", with_commas(found.not_decodable));
  }
  if (is_manifest(file)) text += "; " + counted(packs.size(), "shard");
  shell.line("ok", text);
}

// Adds the damage of all packs to `found`.
void check_all(PixelCheck& found, const Packs& packs, bool pixels, std::uint64_t threads,
               Progress& progress, const std::string& file, const Shell& shell) {
  std::uint64_t before = 0;
  for (const auto& pack : packs) {
    pack->verify([&](const Error& error) { found.damage.push_back(error); },
                 [&](std::uint64_t bytes) {
                   progress.show({.bytes = before + bytes, .bytes_total = bytes_of(packs)});
                   return !stop_flag().load();
                 });
    before += pack->file_bytes();
    progress.wipe();
    check_interrupt(file);
    if (!pixels) continue;
    const PixelCheck images = check_pixels(*pack, threads, shell);
    found.damage.insert(found.damage.end(), images.damage.begin(), images.damage.end());
    found.decoded += images.decoded;
    found.not_decodable += images.not_decodable;
  }
}

struct VerifyArguments {
  std::string file;
  bool pixels = false;
  std::uint64_t threads = 0;
  SalvageArguments salvage;  // target is empty without --salvage
};

// Returns false if help was requested.
bool parse(VerifyArguments& out, const Args& args, Shell& shell) {
  Arguments arguments(kHelp, shell);
  arguments.positional(out.file, "FILE", "a pack or a manifest");
  arguments.flag(out.pixels, "--pixels", "decode every image as well");
  arguments.option(out.salvage.target, "--salvage", "OUT", "write the intact records to this pack");
  add_threads(arguments, out.threads);
  arguments.section("--salvage");
  arguments.option(out.salvage.like, "--like", "PACK",
                   "a pack with the same fields, classes and tables");
  arguments.flag(out.salvage.force, "-f,--force", "replace OUT if it exists");
  if (!arguments.parse(args)) return false;
  arguments.exclude("--salvage", {"--pixels"});
  if (out.salvage.target.empty() && arguments.is_given("--salvage")) {
    throw UsageError("the name after --salvage is empty");
  }
  out.salvage.threads = out.threads;
  return true;
}

int verify(const VerifyArguments& arguments, const Shell& shell) {
  const std::string& file = arguments.file;
  const std::uint64_t threads = arguments.threads ? arguments.threads : usable_cpus();
  PixelCheck found;  // damage found by both checks
  Packs packs;
  try {
    packs = is_manifest(file) ? open_shards(file) : Packs{Pack::open(file)};
  } catch (const Error& error) {
    if (exit_of(error.code()) != kDamaged) throw;
    found.damage.push_back(error);
  }
  Progress progress(shell, "checking", "img");
  check_all(found, packs, arguments.pixels, threads, progress, file, shell);
  if (shell.json) {
    print_as_json(found, file, packs, progress.seconds(), shell);
  } else if (!found.damage.empty()) {
    (shell.quiet || packs.empty() ? print_errors : print_damage)(found, file, shell);
  } else {
    print_ok(found, file, packs, arguments.pixels, progress.seconds(), shell);
  }
  return found.damage.empty() ? kOk : kDamaged;
}

}  // namespace

int run_verify(const Args& args, Shell& shell) {
  VerifyArguments arguments;
  if (!parse(arguments, args, shell)) return kOk;
  const bool salvages = !arguments.salvage.target.empty();
  return salvages ? salvage(arguments.file, arguments.salvage, shell) : verify(arguments, shell);
}

}  // namespace tundish::cli
