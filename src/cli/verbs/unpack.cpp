// tundish unpack: restores the packed image files byte for byte, with their other fields.
#include <fmt/format.h>

#include "cli/error_lines.h"
#include "cli/json.h"
#include "cli/progress.h"
#include "cli/source_arguments.h"
#include "cli/text.h"
#include "cli/unpack/write_record.h"
#include "cli/verbs.h"
#include "rewrite/convert/convert.h"
#include "rewrite/convert/target_formats.h"

namespace tundish::cli {
namespace {

constexpr VerbHelp kHelp = {
    .verb = "unpack",
    .usage = "DATA -o FOLDER [options]   or   DATA --record N [-o FILE]",
    .examples = R"(tundish unpack train.tnd -o photos/
tundish unpack train.tnd --record 0 -o first.jpg
tundish unpack train.tnd --record 0 > first.jpg
tundish unpack train.tnd --record 0 --field label)",
    .text = R"(Writes the image files below FOLDER and never outside it, byte for byte, with the
names that they had in the dataset. Other files of a sample in an archive are written
too, unless they are empty. FOLDER/list.csv contains the labels (also of .cls files) and
columns that do not follow from the folders. It is called list-2.csv if the dataset has
a file list.csv. Existing files with the same bytes are kept, so you can repeat an
interrupted run. Other files are replaced only with --force. Damaged and unreadable
records, and records whose names cannot be file names here, are listed and left out.
Records whose names are damaged are written as record-N. The exit code is 3 in all these
cases.

--record N writes the bytes of one record, counted from 0: its image, or the field named
by --field. The bytes go to stdout, or to the file of -o. Bytes that fail their checksum
are not written. DATA may be any source that can be packed.)",
    .json = R"({output, files, bytes, unchanged, list, damaged, seconds}; list is the name of
the list or null; damaged is an array of {code, message, title, file, record,
key, offset, reason}

with --record --json, which writes the bytes only with -o:
{record, key, label, class, codec, width, height, fields, output}; fields is an array
of {name, type, bytes}, bytes being their number; output is the file of -o or null)"};

void print_as_json(const ConvertReport& done, const std::string& target, double seconds,
                   const Shell& shell) {
  Json out;
  out["output"] = json_text(target);
  out["files"] = done.files;
  out["bytes"] = done.bytes;
  out["unchanged"] = done.unchanged;
  out["list"] = done.list.empty() ? Json() : Json(done.list);
  out["damaged"] = Json::array();
  for (const Error& error : done.refused) out["damaged"].push_back(error_json(error));
  out["seconds"] = seconds;
  print_json(shell, out);
}

void print_text(const ConvertReport& done, const std::string& target, double seconds,
                const Shell& shell) {
  std::string text =
      fmt::format("{}  {}, {} in {}", printable(target), counted(done.files, "file"),
                  bytes_text(static_cast<double>(done.bytes)), duration_text(seconds));
  if (done.unchanged) {
    text += fmt::format(", {} unchanged", with_commas(done.unchanged));
  }
  if (!done.refused.empty()) {
    text += fmt::format(", {} damaged left out", with_commas(done.refused.size()));
  }
  shell.line("done", text);
}

struct UnpackArguments {
  SourceArguments about;
  std::string file, target;
  bool force = false, one_record = false;
  RecordOptions record;
};

// Returns false if help was requested.
bool parse(UnpackArguments& out, const Args& args, Shell& shell) {
  Arguments arguments(kHelp, shell);
  arguments.positional(out.file, "DATA", "a pack, or another source");
  add_source_arguments(arguments, out.about);
  arguments.option(out.target, "-o,--output", "FOLDER", "where to write; created if missing");
  arguments.flag(out.force, "-f,--force", "replace existing files with other bytes");
  arguments.option(out.record.record, "--record", "N", "write this record only; -o names a file", 0,
                   UINT64_MAX);
  arguments.section("--record");
  arguments.option(out.record.field, "--field", "F", "which field (default: the image)");
  if (!arguments.parse(args)) return false;
  out.one_record = arguments.is_given("--record");
  if (out.target.empty() && arguments.is_given("--output")) {
    throw UsageError("the name after -o is empty");
  }
  if (out.target.empty() && !out.one_record) {
    throw UsageError("--output is required: -o FOLDER; or --record N");
  }
  out.record.target = out.target;
  out.record.replace = out.force;
  return true;
}

int unpack_all(const UnpackArguments& arguments, const Source& source, const Shell& shell) {
  std::uint64_t total = 0;
  for (std::uint64_t i = 0; i < source.count(); ++i) total += source.bytes(i);
  Progress progress(shell, "unpacking", "files");
  const auto show = [&](const ConvertReport& so_far) {
    progress.show({.items = so_far.files,
                   .items_total = source.count(),
                   .bytes = so_far.bytes,
                   .bytes_total = total});
  };
  const ConvertReport done =
      convert(arguments.target, *find_target_format("folder"), source,
              {.replace = arguments.force, .class_folders = false, .progress = show});
  progress.wipe();

  warn_of_errors(done.refused, true, shell);
  (shell.json ? print_as_json : print_text)(done, arguments.target, progress.seconds(), shell);
  return done.refused.empty() ? kOk : kDamaged;
}

}  // namespace

int run_unpack(const Args& args, Shell& shell) {
  UnpackArguments arguments;
  if (!parse(arguments, args, shell)) return kOk;
  const std::shared_ptr<const Source> source = open_source(arguments.file, arguments.about);
  if (!arguments.one_record) return unpack_all(arguments, *source, shell);
  write_record(*source, arguments.record, shell);
  return kOk;
}

}  // namespace tundish::cli
