// tundish convert: writes any dataset in another format.
#include "rewrite/convert/convert.h"

#include <fmt/format.h>

#include <cstdio>

#include "cli/error_lines.h"
#include "cli/json.h"
#include "cli/progress.h"
#include "cli/source_arguments.h"
#include "cli/text.h"
#include "cli/verbs.h"
#include "rewrite/convert/target_formats.h"

namespace tundish::cli {
namespace {

constexpr VerbHelp kHelp = {
    .verb = "convert",
    .usage = "SRC -o TARGET --to FORMAT [options]",
    .examples = R"(tundish convert train.tnd -o train.tar --to tar
tundish convert train.tnd -o photos/ --to folder
tundish convert photos/ -o train.tfrecord --to tfrecord --shards 8
tundish convert train.tnd -o lmdb/ --to lmdb
tundish convert train.tnd -o train.h5 --to hdf5
tundish convert cifar.tnd -o arrays/ --to npy)",
    .text = R"(Writes a dataset in another format, so that programs without Tundish can read it.
SRC is a pack or any other source that tundish pack accepts. Encoded images keep their
bytes: JPEGs that a pack re-coded ("lanes") become the original files again. Arrays keep
their values. The same input always results in the same bytes. FORMAT is one of

  folder    the files, in a folder for each class if every sample has a named
            class, as torchvision's ImageFolder reads them; list.csv has the
            labels that cannot be derived from the source's folders
  tar       NAME.jpg, NAME.cls, NAME.FIELD, as WebDataset reads them
  tfrecord  tf.train.Example: image/encoded, image/class/label, ...
  lmdb      TARGET/data.mdb: Caffe's Datum with the label; without labels, plain images
  hdf5      image, label, key and a dataset for each other field
  npy       TARGET/image.npy, label.npy, ...: images are decoded and must have one shape

TARGET appears only when it is complete. A folder fills file by file, and you can repeat
an interrupted run. Existing files are replaced only with --force. --shards N divides a
tar or tfrecord into N files. Samples that cannot be read, or that FORMAT cannot hold,
are listed and left out: the exit code is 3, or 0 with --skip-bad. Fields that FORMAT
cannot hold are left out with a warning.)",
    .json = R"({output, format, samples, files, bytes, unchanged, list, left_out, warnings,
refused, seconds}; list is the name of a folder's list or null; left_out: fields;
refused is an array of {code, message, title, file, record, key, offset, reason}.
--progress json prints lines of {"progress": {samples, samples_total, bytes,
bytes_total, refused}} on stderr; a total of 0 is unknown)"};

struct ConvertArguments {
  std::string source, target, format, progress = "auto";
  std::uint64_t shards = 1;
  bool force = false, skip_bad = false;
  SourceArguments about;
};

const TargetFormat& format_of(const ConvertArguments& arguments) {
  if (const TargetFormat* format = find_target_format(arguments.format)) return *format;
  if (arguments.format == "tnd" || arguments.format == "pack") {
    throw UsageError("a pack is written by: tundish pack SRC -o OUT.tnd");
  }
  throw UsageError(fmt::format("--to is one of {}, not '{}'", target_format_names(),
                               printable(arguments.format)));
}

bool parse(ConvertArguments& out, const Args& args, Shell& shell) {
  Arguments arguments(kHelp, shell);
  arguments.positional(out.source, "SRC", "a pack, folder, list, archive or file of arrays");
  arguments.option(out.target, "-o,--output", "TARGET", "the file or folder to write", true);
  arguments.option(out.format, "--to", "FORMAT", "folder, tar, tfrecord, lmdb, hdf5 or npy", true);
  arguments.option(out.shards, "--shards", "N", "for tar and tfrecord: N files", 1, 100'000);
  arguments.flag(out.force, "-f,--force", "replace what exists");
  arguments.flag(out.skip_bad, "--skip-bad", "exit code 0 although samples were left out");
  arguments.option(out.progress, "--progress", "HOW", "auto (on a terminal), never, json");
  add_source_arguments(arguments, out.about);
  if (!arguments.parse(args)) return false;
  if (out.target.empty()) throw UsageError("the name after -o is empty");
  if (out.progress != "auto" && out.progress != "never" && out.progress != "json") {
    throw UsageError(
        fmt::format("--progress is one of auto, never, json, not '{}'", printable(out.progress)));
  }
  return true;
}

// Shows progress, or prints it as lines of JSON for a program that displays it.
class ConvertProgress {
 public:
  ConvertProgress(const std::string& how, const Source& source, const Shell& shell)
      : how_(how), source_(source), line_(shell, "converting", "samples") {}

  void show(const ConvertReport& done) {
    if (how_ == "never") return;
    const std::uint64_t samples = done.samples + done.refused.size();
    if (how_ == "auto") {
      std::string remark;
      if (!done.refused.empty()) remark = with_commas(done.refused.size()) + " refused";
      line_.show({.items = samples, .items_total = source_.count()}, remark);
      return;
    }
    const double now = line_.seconds();
    if (now - printed_at_ < 0.1 && samples < source_.count()) return;
    printed_at_ = now;
    const Json line{{"progress",
                     {{"samples", samples},
                      {"samples_total", source_.count()},
                      {"bytes", done.bytes},
                      {"bytes_total", 0},
                      {"refused", done.refused.size()}}}};
    std::fputs((line.dump() + "\n").c_str(), stderr);
  }

  double end() {
    line_.wipe();
    return line_.seconds();
  }

 private:
  const std::string& how_;
  const Source& source_;
  Progress line_;
  double printed_at_ = -1;
};

Json texts_json(const std::vector<std::string>& texts) {
  Json out = Json::array();
  for (const std::string& text : texts) out.push_back(json_text(text));
  return out;
}

void print_as_json(const ConvertReport& done, const ConvertArguments& arguments, double seconds,
                   const Shell& shell) {
  Json out;
  out["output"] = json_text(arguments.target);
  out["format"] = arguments.format;
  out["samples"] = done.samples;
  out["files"] = done.files;
  out["bytes"] = done.bytes;
  out["unchanged"] = done.unchanged;
  out["list"] = done.list.empty() ? Json() : Json(done.list);
  out["left_out"] = texts_json(done.left_out);
  out["warnings"] = texts_json(done.warnings);
  out["refused"] = Json::array();
  for (const Error& error : done.refused) out["refused"].push_back(error_json(error));
  out["seconds"] = seconds;
  print_json(shell, out);
}

void print_text(const ConvertReport& done, const ConvertArguments& arguments, double seconds,
                const Shell& shell) {
  std::string text =
      fmt::format("{}  {}, {}, {} in {}", printable(arguments.target),
                  counted(done.samples, "sample"), counted(done.files, "file"),
                  bytes_text(static_cast<double>(done.bytes)), duration_text(seconds));
  if (done.unchanged > 0) {
    text += fmt::format(", {} unchanged", with_commas(done.unchanged));
  }
  shell.line("done", text);
  if (!done.refused.empty()) {
    shell.line("refused", counted(done.refused.size(), "sample") + " left out");
  }
}

}  // namespace

int run_convert(const Args& args, Shell& shell) {
  ConvertArguments arguments;
  if (!parse(arguments, args, shell)) return kOk;
  const TargetFormat& format = format_of(arguments);
  const std::shared_ptr<const Source> source = open_source(arguments.source, arguments.about);
  for (const std::string& text : source->warnings()) shell.warn(text);
  ConvertProgress progress(arguments.progress, *source, shell);
  const ConvertReport done =
      convert(arguments.target, format, *source,
              {.replace = arguments.force,
               .shards = arguments.shards,
               .progress = [&](const ConvertReport& so_far) { progress.show(so_far); }});
  const double seconds = progress.end();
  for (const std::string& text : done.left_out) shell.warn("left out: " + text);
  for (const std::string& text : done.warnings) shell.warn(text);
  warn_of_errors(done.refused, !arguments.skip_bad, shell);
  (shell.json ? print_as_json : print_text)(done, arguments, seconds, shell);
  return done.refused.empty() || arguments.skip_bad ? kOk : kDamaged;
}

}  // namespace tundish::cli
