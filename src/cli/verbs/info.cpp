// tundish info: shows the contents of a pack or any other source.
#include <fmt/format.h>

#include "base/clock.h"
#include "base/machine/usable_cpus.h"
#include "cli/info/list.h"
#include "cli/info/stats.h"
#include "cli/info/summary.h"
#include "cli/source_arguments.h"
#include "cli/verbs.h"

namespace tundish::cli {
namespace {

constexpr VerbHelp kHelp = {
    .verb = "info",
    .usage = "DATA [--list | --stats] [options]",
    .examples = R"(tundish info train.tnd
tundish info photos/
tundish info train.tnd --list --from 1000 --samples 10
tundish info train.tnd --stats
tundish info scans.tnd --stats --mode L
tundish info photos/ --stats --samples 20000)",
    .text = R"(Shows what a pack contains: records, classes, sizes, kinds of image. DATA may be any
source that can be packed. Without --stats, only the index is read.

--list prints a line per record: number, codec, pixels, bytes, label, name.

--stats decodes the images and prints the mean and the standard deviation of each
channel, over all pixels of all images at their stored size, as a line for your list of
transforms: T.Normalize(mean=..., std=...). It also prints the sizes and codecs of the
images, and names the images that cannot be decoded. The result does not depend on the
number of threads, because the sums are integers.)",
    .json = R"({file, kind, records, bytes, file_bytes, fields, classes, labels, codecs, lanes,
preprocess, width, height, id, version, alignment, metadata, warnings}; width and
height are {min, median, max} or null; null unless it is a pack: file_bytes, id,
version, alignment, metadata; lanes is null unless JPEGs were re-coded, preprocess
unless images were resized or re-encoded

with --list --json, an object per line:
{record, key, label, class, codec, width, height, bytes}; null what is not known
before an image is read; key_hex with the exact bytes where a name is not UTF-8

with --stats --json:
{file, mode, records, looked_at, images, pixels, mean, std, normalize, sum, squares,
codecs, width, height, shorter_side, smallest, largest, seconds, bad}; mean, std, sum
and squares are arrays with a number for each channel, three or one; sum and squares
are of the levels 0 to 255, exact; width, height and shorter_side are
{min, median, max}, shorter_side also has histogram, an array of {from, to, count};
smallest and largest are {record, key, width, height}; bad is an array of {code,
message, title, file, record, key, offset, reason}; null what no image has)",
    .exits =
        "0 done, 1 failed, 2 wrong use, 3 data damaged or refused\n"
        "(with --stats: no image can be decoded), 130 interrupted"};

struct InfoArguments {
  std::string file, mode = "RGB";
  SourceArguments about;
  bool list = false, stats = false;
  ListOptions list_options;
  StatsOptions stats_options{.samples = 0, .threads = 0};
};

// Returns false if help was requested.
bool parse(InfoArguments& out, const Args& args, Shell& shell) {
  Arguments arguments(kHelp, shell);
  arguments.positional(out.file, "DATA", "a pack, or another source");
  arguments.flag(out.list, "--list", "print a line per record");
  arguments.flag(out.stats, "--stats", "decode the images: mean, deviation, sizes, bad images");
  add_source_arguments(arguments, out.about);
  std::uint64_t samples = 0;
  arguments.option(samples, "--samples", "N", "--list: at most N; --stats: N evenly spaced (all)",
                   1, UINT32_MAX);
  arguments.section("--list");
  arguments.option(out.list_options.from, "--from", "N", "first record (0)", 0, UINT64_MAX);
  arguments.section("--stats");
  arguments.option(out.mode, "--mode", "MODE",
                   "RGB, or L: the one channel of Loader(mode=\"L\") (RGB)");
  arguments.flag(out.stats_options.exif_orientation, "--exif-orientation",
                 "report sizes after EXIF rotation");
  add_threads(arguments, out.stats_options.threads);
  if (!arguments.parse(args)) return false;
  arguments.exclude("--stats", {"--list"});
  if (samples > 0) {
    if (!out.list && !out.stats) throw UsageError("--samples is only for --list and --stats");
    out.list_options.count = out.stats_options.samples = samples;
  }
  if (out.mode != "RGB" && out.mode != "L") {
    throw UsageError(fmt::format("--mode: {} is neither RGB nor L", printable(out.mode)));
  }
  out.stats_options.gray = out.mode == "L";
  if (out.stats_options.threads == 0) out.stats_options.threads = usable_cpus();
  return true;
}

}  // namespace

int run_info(const Args& args, Shell& shell) {
  InfoArguments arguments;
  if (!parse(arguments, args, shell)) return kOk;

  const std::uint64_t begin_ns = now_ns();
  const std::string& file = arguments.file;
  const std::shared_ptr<const Source> source = open_source(file, arguments.about);
  if (arguments.stats) {
    return print_stats(*source, file, arguments.stats_options, begin_ns, shell);
  }
  if (arguments.list) {
    print_list(*source, file, arguments.list_options, shell);
    return kOk;
  }
  print_summary(*source, file, shell);
  return kOk;
}

}  // namespace tundish::cli
