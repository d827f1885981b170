#include "cli/pack/pack_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "data/pack/write/shard_names.h"

namespace tundish::cli {
namespace {

constexpr VerbHelp kHelp = {
    .verb = "pack",
    .usage = "SRC -o OUT.tnd [options]   or   --manifest OUT.tnds SHARD...",
    .examples = R"(tundish pack photos/ -o train.tnd
tundish pack list.csv -o train.tnd --skip-bad
tundish pack shard-000.tar -o train.tnd
tundish pack photos/ -o train.tnd --codec keep
tundish pack photos/ -o train256.tnd --resize shortest=256 --prove
tundish pack photos/ -o cats.tnd --filter "label=cat and width>=64"
tundish pack photos/ -o part.tnd --duplicates drop --subset 10%
tundish pack data.h5 -o train.tnd --image train/x --label train/y
tundish pack photos/ -o train.tnd --shard-size 1GiB
tundish pack photos/ -o train.tnd --shard 3/12
tundish pack --manifest train.tnds train-*-of-00012.tnd)",
    .text = R"(Packs a dataset into one file that Tundish trains from. SRC is a folder
(SRC/CLASS/NAME.jpg), a .csv or .tsv list with a column 'path', a .tar (also .gz, .xz,
.zst, .bz2), records (TFRecord, RecordIO, LMDB), arrays (HDF5, Zarr, N5, .npy, .npz,
.pth, .safetensors, CIFAR, MNIST), or another pack. Tundish recognizes it by its bytes
(docs/sources.md). The same input always results in the same bytes. OUT.tnd appears only
when it is complete.

Files that cannot be read, are empty or are not images are refused. They are listed here
and in OUT.tnd.log, are not packed, and the exit code is 3. Broken images (with an
invalid header, or a JPEG that is cut short or damaged) are packed unchanged and also
listed, without a change of the exit code. PNGs, and JPEGs with --codec keep, are not
decoded here; tundish verify --pixels decodes every image. A file OUT.tnd.log that
tundish pack did not write is replaced only with --force.

A pack that was interrupted (Ctrl-C, a kill, a full disk, a power failure) continues
where it stopped when you run the same command again. It then has the same bytes as
without the interruption. Until then, finished work is in hidden files next to OUT.tnd.
With a different source or different options, it starts over and prints the reason.

--shard-size writes OUT-00000.tnd, OUT-00001.tnd, ..., and OUT.tnds, a manifest that
opens them as one dataset. --shard I/N packs part I of N (0 to N-1) as
OUT-0000I-of-0000N.tnd, so that N machines can pack one source. When all parts exist,
--manifest writes the manifest.

--filter, --duplicates, --subset and --samples choose samples, in this order. Each
option sees only the samples that the previous one kept. A filter compares key, label,
width, height, bytes, codec, or a text or number field with a value: = != < <= > >=, or
~ and !~ with a pattern such as *.png. "and" joins comparisons. A hash of the keys
decides which samples are in a subset, so chosen samples stay chosen when data is added.
Classes keep their numbers.

JPEGs are re-coded without loss ("lanes"). They become smaller and decode several times
faster. Each record is checked to restore its JPEG byte for byte before it is written.
If it does not, the JPEG is kept unchanged and counted by reason.

--resize, --center-crop and --reencode do once what training would do in every epoch. An
image that would be enlarged or would need more bytes stays unchanged. --prove compares
the records with the same work done while loading. The exit code is 1 if raw or PNG
records differ.)",
    .json = R"({output, samples, source_bytes, file_bytes, kept_as_they_came, codecs, refused,
doubtful, warnings, id, seconds, log, dry_run, lanes, files, resumed_at, chosen,
preprocess, proof}; refused and doubtful are arrays of {sample, key, code, message},
where sample is the number in SRC, including refused files; codecs counts the records of
each kind; kept_as_they_came counts images in a format that cannot be decoded;
file_bytes, id and log are null with --dry-run; lanes is {images, jpeg_bytes,
record_bytes, restore_bytes, trained_on, kept}, where kept counts by reason the JPEGs
that were not re-coded; files lists the packs that were written; resumed_at is the
number of samples that an interrupted run had packed; id is null if there are several
files; chosen is {of, samples, filter, subset, seed, limit, duplicates} or null, where
duplicates is an array of {key, duplicate_of, same_label}; preprocess is {options,
changed, kept, kept_smaller, bytes_before, bytes_after} or null; proof is null without
--prove; docs/pack.md explains both.
With --manifest: {output, records, shards}, shards of {name, records, bytes, id}.
--progress json prints lines of {"progress": {samples, samples_total, bytes,
bytes_total, refused}} on stderr; a total of 0 is unknown)"};

// Parses a number such as "0.95"; throws UsageError.
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

// Parses a size such as "1GiB", "500MB", "4096"; throws UsageError.
std::uint64_t bytes_of(const std::string& text) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  const std::string unit(at, end);
  constexpr std::pair<const char*, std::uint64_t> kUnits[] = {{"", 1},
                                                              {"B", 1},
                                                              {"KB", 1000},
                                                              {"KiB", 1ull << 10},
                                                              {"MB", 1000'000},
                                                              {"MiB", 1ull << 20},
                                                              {"GB", 1000'000'000},
                                                              {"GiB", 1ull << 30},
                                                              {"TB", 1000'000'000'000},
                                                              {"TiB", 1ull << 40}};
  for (const auto& [name, factor] : kUnits) {
    std::uint64_t bytes = 0;
    if (error != std::errc{} || unit != name || value == 0) continue;
    if (!__builtin_mul_overflow(value, factor, &bytes)) return bytes;
  }
  throw UsageError(fmt::format("--shard-size is a number of bytes such as 1GiB or 500MB, not '{}'",
                               printable(text)));
}

// Parses "3/12"; throws UsageError.
SourcePart part_of(const std::string& text) {
  SourcePart out;
  const char* end = text.data() + text.size();
  const auto number = std::from_chars(text.data(), end, out.number);
  if (number.ec == std::errc{} && number.ptr != end && *number.ptr == '/') {
    const auto count = std::from_chars(number.ptr + 1, end, out.count);
    if (count.ec == std::errc{} && count.ptr == end && out.number < out.count) return out;
  }
  throw UsageError(
      fmt::format("--shard is I/N with I from 0 to N-1, such as 3/12, not '{}'", printable(text)));
}

double seconds_of(const std::string& text) {
  double value = 0;
  const auto end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc{} && at == end && value >= 0 && value <= 1e6) return value;
  throw UsageError(fmt::format("--checkpoint is a number of seconds, not '{}'", printable(text)));
}

// Requires one source and -o, or shards and --manifest.
void check_output(PackArguments& out, const std::string& manifest) {
  if (!manifest.empty()) {
    if (!out.target.empty()) throw UsageError("--manifest names the file to write; leave out -o");
    if (!manifest.ends_with(".tnds")) {
      throw UsageError("the name of a manifest ends with .tnds, such as train.tnds");
    }
    out.manifest = true;
    out.target = manifest;
    return;
  }
  if (out.from.size() > 1) {
    throw UsageError(
        fmt::format("one SRC is packed at a time; '{}' is a second one", printable(out.from[1])));
  }
  if (out.target.empty()) throw UsageError("--output is required: -o OUT.tnd");
}

}  // namespace

bool parse(PackArguments& out, const Args& args, Shell& shell) {
  std::string growth = "1.10";
  ChoiceArguments choice;
  Arguments arguments(kHelp, shell);
  std::string manifest, size, shard, checkpoint = "5";
  arguments.positionals(out.from, "SRC", "any dataset of docs/sources.md; shards with --manifest");
  add_source_arguments(arguments, out.about);
  arguments.option(out.target, "-o,--output", "FILE", "the pack to write");
  arguments.flag(out.force, "-f,--force", "replace FILE if it exists, and FILE.log");
  arguments.flag(out.skip_bad, "--skip-bad", "exit code 0 despite refused files");
  arguments.flag(out.dry_run, "-n,--dry-run", "only examine the source, write nothing");
  arguments.option(out.codec, "--codec", "C", "lanes (default): re-code JPEGs; keep: unchanged");
  arguments.option(out.tables, "--lanes-tables", "T", "train, builtin, or auto (default)");
  arguments.option(growth, "--max-growth", "X", "keep a JPEG that would grow by more (1.10)");
  arguments.flag(out.strip, "--strip-metadata",
                 "drop metadata except orientation: no exact restore");
  arguments.option(out.progress, "--progress", "HOW",
                   "auto (default): on a terminal; never; json: on stderr");
  arguments.option(size, "--shard-size", "SIZE", "several files of at most this size: 1GiB, 500MB");
  arguments.option(shard, "--shard", "I/N", "pack part I of N only, counted from 0");
  arguments.option(manifest, "--manifest", "FILE", "write the list of these shards, pack nothing");
  arguments.flag(out.no_resume, "--no-resume", "start over, even after an interruption");
  arguments.option(checkpoint, "--checkpoint", "SECONDS", "seconds between checkpoints (5)");
  add_choice_options(arguments, choice);
  add_preprocess_options(arguments, out.preprocess);
  add_threads(arguments, out.threads);
  if (!arguments.parse(args)) return false;
  check_output(out, manifest);
  out.choice = choice_of(choice);
  if (!size.empty()) out.shard_bytes = bytes_of(size);
  if (!shard.empty()) out.shard = part_of(shard);
  if (out.preprocess.prove && (out.shard_bytes > 0 || out.shard.count > 1)) {
    throw UsageError(
        "--prove is for one file: leave out --shard-size and --shard, or prove a part "
        "packed alone");
  }
  if (!size.empty() && !shard.empty()) {
    throw UsageError("--shard-size and --shard cannot be combined");
  }
  out.checkpoint = seconds_of(checkpoint);
  check_choice("--codec", out.codec, {"lanes", "keep"});
  check_choice("--lanes-tables", out.tables, {"train", "builtin", "auto"});
  check_choice("--progress", out.progress, {"auto", "never", "json"});
  out.max_growth = number_of(growth, "--max-growth");
  return true;
}

std::string output_of(const PackArguments& arguments) {
  if (arguments.manifest) return arguments.target;
  if (arguments.shard_bytes > 0) return manifest_name(arguments.target);
  if (arguments.shard.count == 1) return arguments.target;
  return shard_name(arguments.target, arguments.shard.number, arguments.shard.count);
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
  out.choice = arguments.choice.text();
  out.shard = arguments.shard;
  out.shard_bytes = arguments.shard_bytes;
  out.resume = !arguments.no_resume;
  out.checkpoint_seconds = arguments.checkpoint;
  return out;
}

}  // namespace tundish::cli
