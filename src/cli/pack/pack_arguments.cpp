#include "cli/pack/pack_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <string_view>

namespace tundish::cli {
namespace {

constexpr VerbHelp kHelp = {
    .verb = "pack",
    .usage = "SRC -o OUT.tnd [options]",
    .examples = R"(tundish pack photos/ -o train.tnd
tundish pack list.csv -o train.tnd --skip-bad
tundish pack shard-000.tar -o train.tnd
tundish pack photos/ -o train.tnd --codec keep)",
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
cannot be is kept as a JPEG and counted by reason.)",
    .json = R"({output, samples, source_bytes, file_bytes, kept_as_they_came, codecs, refused,
doubtful, warnings, id, seconds, log, dry_run, lanes}; refused and doubtful are arrays
of {sample, key, code, message}, sample counts SRC, also what is refused; codecs
counts the records of each kind; kept_as_they_came: images in a format that cannot
be decoded; null with --dry-run: file_bytes, id, log; lanes is {images, jpeg_bytes,
record_bytes, restore_bytes, trained_on, kept}, kept counts by reason the JPEGs that
were not re-coded.
--progress json prints lines of {"progress": {samples, samples_total, bytes,
bytes_total, refused}} on stderr; a total of 0 is not known)"};

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

void check_choice(const char* option, const std::string& value,
                  std::initializer_list<std::string_view> choices) {
  if (std::find(choices.begin(), choices.end(), value) != choices.end()) return;
  throw UsageError(
      fmt::format("{} is one of {}, not '{}'", option, fmt::join(choices, ", "), printable(value)));
}

}  // namespace

bool parse(PackArguments& out, const Words& words, Shell& shell) {
  std::string growth = "1.10";
  Arguments arguments(kHelp, shell);
  arguments.word(out.from, "SRC", "a folder, list, archive or pack");
  add_source_words(arguments, out.about);
  arguments.option(out.target, "-o,--output", "FILE", "the pack to write", true);
  arguments.flag(out.force, "-f,--force", "replace FILE if it exists, and FILE.log");
  arguments.flag(out.skip_bad, "--skip-bad", "refused files are no failure: exit code 0");
  arguments.flag(out.dry_run, "-n,--dry-run", "look at the source only, write nothing");
  arguments.option(out.codec, "--codec", "C", "lanes (default): re-code JPEGs; keep: as they came");
  arguments.option(out.tables, "--tables", "T", "of lanes: train, builtin, or auto (default)");
  arguments.option(growth, "--max-growth", "X", "keep a JPEG that would grow by more (1.10)");
  arguments.flag(out.strip, "--strip-metadata", "drop EXIF, ICC and comments: no exact restore");
  arguments.option(out.progress, "--progress", "P",
                   "auto (default): on a terminal; never; json: on stderr");
  add_threads(arguments, out.threads);
  if (!arguments.parse(words)) return false;
  if (out.target.empty()) throw UsageError("the name after -o is empty");
  check_choice("--codec", out.codec, {"lanes", "keep"});
  check_choice("--tables", out.tables, {"train", "builtin", "auto"});
  check_choice("--progress", out.progress, {"auto", "never", "json"});
  out.max_growth = number_of(growth, "--max-growth");
  return true;
}

PackOptions pack_options(const PackArguments& arguments) {
  PackOptions out;
  out.threads = static_cast<int>(arguments.threads);
  out.replace = arguments.force;
  out.lanes = arguments.codec == "lanes";
  out.tables = arguments.tables == "train"     ? LanesTables::train
               : arguments.tables == "builtin" ? LanesTables::builtin
                                               : LanesTables::automatic;
  out.max_growth = arguments.max_growth;
  out.strip_metadata = arguments.strip;
  return out;
}

}  // namespace tundish::cli
