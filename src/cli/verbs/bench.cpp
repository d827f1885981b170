// tundish bench: measures how fast this machine loads training batches from a pack.
#include <fmt/format.h>

#include <algorithm>

#include "base/machine/cpu.h"
#include "base/machine/usable_cpus.h"
#include "cli/json.h"
#include "cli/measure.h"
#include "cli/source_arguments.h"
#include "cli/text.h"
#include "cli/verbs.h"

namespace tundish::cli {
namespace {

constexpr VerbHelp kHelp = {
    .verb = "bench",
    .usage = "[load] FILE [options]",
    .examples = R"(tundish bench train.tnd
tundish bench train.tnd --threads 4 --size 160
tundish bench load train.tnd)",
    .text = R"(Measures the speed of the loader alone: shuffled batches of random resized crops
with random flips, 8 bits per channel, as a training run loads them. Without --threads,
it alternates between one thread and all cores, and shows medians. Any other source with
random access can be measured, too.

tundish bench load FILE shows how the time of one image is divided among the stages. See
tundish bench load --help.)",
    .json = R"({file, records, size, batch_size, cpu, runs, rows}; rows is an array of {threads,
images_per_second, slowest, fastest, bytes_per_second, first_batch_seconds,
cpu_seconds_per_1000, images, skipped, seconds})"};

struct BenchArguments {
  SourceArguments about;
  std::string file;
  std::uint64_t threads = 0;
  std::uint64_t size = 224;
  std::uint64_t batch = 64;
  std::uint64_t runs = 3;
  double seconds = 1;
};

// Returns false if help was requested.
bool parse(BenchArguments& out, const Args& args, Shell& shell) {
  Arguments arguments(kHelp, shell);
  arguments.positional(out.file, "FILE", "a pack, or another source");
  add_source_arguments(arguments, out.about);
  arguments.option(out.threads, "-j,--threads", "N", "only this many threads", 1, 1024);
  arguments.option(out.size, "--size", "N", "side of the crops in pixels (224)", 1, 4096);
  arguments.option(out.batch, "--batch-size", "N", "images in a batch (64)", 1, 65536);
  arguments.option(out.runs, "--runs", "N", "runs of each, the median is shown (3)", 1, 1000);
  arguments.option(out.seconds, "--seconds", "SECONDS", "time of one run (1)", 0.001, 3600);
  return arguments.parse(args);
}

Json bench_json(const BenchArguments& arguments, const Source& source,
                const std::vector<Series>& all) {
  Json out;
  out["file"] = json_text(arguments.file);
  out["records"] = source.count();
  out["size"] = arguments.size;
  out["batch_size"] = arguments.batch;
  out["cpu"] = cpu_name(cpu());
  out["runs"] = arguments.runs;
  out["rows"] = Json::array();
  for (const Series& series : all) out["rows"].push_back(series_json(series));
  return out;
}

void print_table(const std::vector<Series>& all, const Shell& shell) {
  shell.print(
      "  threads     images/s   slowest - fastest      MB/s   first batch   CPU s / 1,000\n");
  for (const Series& series : all) {
    const Measured& m = series.median;
    shell.print(fmt::format("  {:>7} {:>12} {:>9} - {:<9} {:>7.1f} {:>10.0f} ms {:>15.2f}\n",
                            m.threads, rate_text(m.images_per_second), rate_text(series.slowest),
                            rate_text(series.fastest), m.bytes_per_second / 1e6,
                            m.first_batch_seconds * 1000, cpu_per_1000(m)));
  }
}

}  // namespace

int run_bench(const Args& args, Shell& shell) {
  // A file may be named load: then it is the last argument, or options follow.
  if (args.size() > 1 && args[0] == "load" &&
      (args[1] == "--help" || args[1] == "-h" || !args[1].starts_with('-'))) {
    return run_bench_load(Args(args.begin() + 1, args.end()), shell);
  }
  BenchArguments arguments;
  if (!parse(arguments, args, shell)) return kOk;
  const std::shared_ptr<const Source> source = open_source(arguments.file, arguments.about);
  std::vector<int> counts;
  if (arguments.threads > 0) {
    counts = {static_cast<int>(arguments.threads)};
  } else {
    counts = {1, static_cast<int>(usable_cpus())};
    if (counts[0] == counts[1]) counts.pop_back();
  }
  shell.message("bench", fmt::format("{}, random_resized_crop {}, batches of {}, {} runs of {}",
                                     printable(arguments.file), arguments.size, arguments.batch,
                                     arguments.runs, duration_text(arguments.seconds)));
  const std::vector<Series> all =
      measure_all(source,
                  {.size = static_cast<int>(arguments.size),
                   .batch_size = static_cast<std::uint32_t>(arguments.batch),
                   .threads = 1,
                   .seconds = arguments.seconds},
                  counts, static_cast<int>(arguments.runs));
  if (shell.json) {
    print_json(shell, bench_json(arguments, *source, all));
    return kOk;
  }
  print_table(all, shell);
  const std::uint64_t skipped = all.back().median.skipped;
  if (skipped > 0) {
    shell.warn(
        fmt::format("{} samples could not be decoded and were left out; tundish verify {} "
                    "--pixels names them",
                    with_commas(skipped), quoted_for_shell(arguments.file)));
  }
  return kOk;
}

}  // namespace tundish::cli
