// tundish bench load: the time per image, as a waterfall of the loader's stages.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>

#include "base/machine/cpu.h"
#include "base/machine/usable_cpus.h"
#include "cli/json.h"
#include "cli/load_sweep.h"
#include "cli/measure.h"
#include "cli/source_arguments.h"
#include "cli/text.h"
#include "cli/verbs.h"
#include "data/pack/output_file.h"

namespace tundish::cli {
namespace {

constexpr VerbHelp kHelp = {
    .verb = "bench load",
    .usage = "FILE [options]",
    .examples = R"(tundish bench load train.tnd
tundish bench load train.tnd --threads 4 --train-rate 3000
tundish bench load train.tnd --sweep -o sweep.svg)",
    .text = R"(Loads shuffled batches of random resized crops with random flips, as fast as
possible, and shows how the time of one image is divided: read, decode, augment, and the
rest (threads that wait for each other or for a CPU). Pass the images per second that
the training step could process as --train-rate to see the share of time that training
would wait for data.

--sweep loads with 1, 2, 4 and more threads, into plain and into page-locked memory. It
then loads with the number that threads="auto" finds (five seconds more). For
comparison, it shows the rates that the cost model predicts from the run with one
thread.)",
    .json = R"({file, records, size, batch_size, cpu, threads, images_per_second,
thread_us_per_image, stages, cpu_share, limit, skipped, trainer_images_per_second,
trainer_wait_share}; stages is an array of {stage, us_per_image, share}; cpu_share is
the share of a CPU that each thread had. With --sweep {file, records, size, batch_size,
cpu, cpus, rows, auto, auto_share}; rows is an array of {threads, images_per_second,
slowest, fastest, page_locked_images_per_second, predicted_images_per_second}, auto is
one such row, and auto_share is its rate divided by the rate of the best row)"};

struct StageTime {
  const char* name;
  double share;  // of the threads' time
};

using Stages = std::array<StageTime, 4>;

Stages stages_of(const Measured& m) {
  const double rest = std::max(0.0, 1 - m.read_share - m.decode_share - m.augment_share);
  return {{{"read", m.read_share},
           {"decode", m.decode_share},
           {"augment", m.augment_share},
           {"other", rest}}};
}

// Each bar starts where the previous bar ends.
std::string waterfall(const Stages& stages, double us_per_image) {
  constexpr double kColumns = 40;
  std::string out;
  double begin = 0;
  for (const StageTime& stage : stages) {
    const double end = begin + stage.share;
    const auto from = static_cast<std::size_t>(std::lround(begin * kColumns));
    const auto to = static_cast<std::size_t>(std::lround(end * kColumns));
    out += fmt::format("  {:<9} {:>9.1f} us {:>4.0f} %  {}{}\n", stage.name,
                       stage.share * us_per_image, 100 * stage.share, std::string(from, ' '),
                       std::string(std::max<std::size_t>(to, from + 1) - from, '#'));
    begin = end;
  }
  return out;
}

// Decoding and augmenting are CPU-bound, and stages are measured in wall time. Threads with less
// CPU time than wall time in these stages were preempted.
bool short_of_cpu(const Measured& m, double cpu_share) {
  return cpu_share < 0.8 * (m.decode_share + m.augment_share);
}

const char* advice(const std::string& limit) {
  if (limit == "read") return "a faster disk, or data that fit in memory";
  if (limit == "cpu") return "fewer threads, more CPUs or no other programs on this machine";
  if (limit == "other") return "fewer threads, or no other programs on this machine";
  return "more threads if CPUs are idle, or smaller images";
}

struct LoadArguments {
  SourceArguments about;
  std::string file;
  std::uint64_t threads = 0, size = 224, batch = 64, train_rate = 0;
  double seconds = 2;
  std::string chart;  // output file
  bool sweep = false, force = false;
};

// Returns false if help was requested.
bool parse(LoadArguments& out, const Args& args, Shell& shell) {
  Arguments arguments(kHelp, shell);
  arguments.positional(out.file, "FILE", "a pack, or another source");
  add_source_arguments(arguments, out.about);
  add_threads(arguments, out.threads);
  arguments.option(out.size, "--size", "N", "side of the crops in pixels (224)", 1, 4096);
  arguments.option(out.batch, "--batch-size", "N", "images in a batch (64)", 1, 65536);
  arguments.option(out.train_rate, "--train-rate", "N",
                   "images per second that training could take", 1, 1'000'000'000);
  arguments.option(out.seconds, "--seconds", "SECONDS", "time to load (2)", 0.001, 3600);
  arguments.flag(out.sweep, "--sweep", "a table of thread counts");
  arguments.section("--sweep");
  arguments.option(out.chart, "-o,--output", "FILE", "also write a chart, as SVG");
  arguments.flag(out.force, "-f,--force", "replace FILE if it exists");
  return arguments.parse(args);
}

// Conclusions from the measured times.
struct Findings {
  Stages stages;
  double us_per_image;  // per thread
  double cpu_share;     // CPU time per thread, as a share of one CPU
  std::string limit;
  double wait;  // share of time that the trainer would wait
};

Findings find(const Measured& m, std::uint64_t trainer) {
  Findings out;
  out.stages = stages_of(m);
  out.us_per_image = m.images == 0 ? 0 : 1e6 * static_cast<double>(m.threads) / m.images_per_second;
  out.limit =
      std::max_element(out.stages.begin(), out.stages.end(),
                       [](const StageTime& a, const StageTime& b) { return a.share < b.share; })
          ->name;
  out.cpu_share = m.cpu_seconds / (m.seconds * static_cast<double>(m.threads));
  if (short_of_cpu(m, out.cpu_share)) out.limit = "cpu";
  out.wait =
      trainer == 0 ? 0 : std::max(0.0, 1 - m.images_per_second / static_cast<double>(trainer));
  return out;
}

// Returns the keys that both results start with.
Json about_json(const LoadArguments& arguments, const Source& source) {
  Json out;
  out["file"] = json_text(arguments.file);
  out["records"] = source.count();
  out["size"] = arguments.size;
  out["batch_size"] = arguments.batch;
  out["cpu"] = cpu_name(cpu());
  return out;
}

Json load_json(const LoadArguments& arguments, const Source& source, const Measured& m,
               const Findings& found) {
  const bool trainer = arguments.train_rate != 0;
  Json out = about_json(arguments, source);
  out["threads"] = m.threads;
  out["images_per_second"] = m.images_per_second;
  out["thread_us_per_image"] = found.us_per_image;
  out["stages"] = Json::array();
  for (const StageTime& stage : found.stages) {
    out["stages"].push_back({{"stage", stage.name},
                             {"us_per_image", stage.share * found.us_per_image},
                             {"share", stage.share}});
  }
  out["cpu_share"] = found.cpu_share;
  out["limit"] = found.limit;
  out["skipped"] = m.skipped;
  out["trainer_images_per_second"] = trainer ? Json(arguments.train_rate) : Json(nullptr);
  out["trainer_wait_share"] = trainer ? Json(found.wait) : Json(nullptr);
  return out;
}

void print_lines(const LoadArguments& arguments, const Measured& m, const Findings& found,
                 const Shell& shell) {
  shell.print(fmt::format("  {}, random_resized_crop {}, batches of {}, {} thread{}\n\n",
                          printable(arguments.file), arguments.size, arguments.batch, m.threads,
                          m.threads == 1 ? "" : "s"));
  shell.print(waterfall(found.stages, found.us_per_image));
  shell.print(fmt::format("  {:<9} {:>9.1f} us  of a thread for one image\n\n", "together",
                          found.us_per_image));
  shell.line("rate", fmt::format("{} images/s, {:.1f} MB/s", rate_text(m.images_per_second),
                                 m.bytes_per_second / 1e6));
  shell.line("limit", fmt::format("{}: {} would help", found.limit, advice(found.limit)));
  if (m.skipped > 0) {
    shell.line("bad", fmt::format("{} samples were left out; what they took is in the stages",
                                  with_commas(m.skipped)));
  }
  shell.line("trainer", arguments.train_rate == 0
                            ? fmt::format("waits for data when it could take more than {} images/s",
                                          rate_text(m.images_per_second))
                            : fmt::format("of {} images/s would wait {:.0f} % of its time",
                                          with_commas(arguments.train_rate), 100 * found.wait));
}

MeasureOptions measure_options(const LoadArguments& arguments) {
  return {.size = static_cast<int>(arguments.size),
          .batch_size = static_cast<std::uint32_t>(arguments.batch),
          .threads = static_cast<int>(arguments.threads),
          .seconds = arguments.seconds};
}

void run_sweep(const LoadArguments& arguments, const std::shared_ptr<const Source>& source,
               const Shell& shell) {
  constexpr int kRuns = 3;
  std::optional<OutputFile> chart;  // first: an unusable name fails early
  if (!arguments.chart.empty()) chart.emplace(arguments.chart, arguments.force);
  const Sweep sweep = sweep_threads(source, measure_options(arguments), kRuns);
  if (chart) {
    const std::string text = sweep_svg(sweep);
    chart->write_at(std::as_bytes(std::span(text)), 0);
    chart->commit(text.size());
  }
  if (shell.json) {
    Json out = about_json(arguments, *source);
    out.update(sweep_json(sweep));
    return print_json(shell, out);
  }
  shell.print(fmt::format("  {}, random_resized_crop {}, batches of {}, {:g} CPUs\n\n",
                          printable(arguments.file), arguments.size, arguments.batch, sweep.cpus));
  shell.print(sweep_table(sweep) + "\n");
  shell.line("auto", fmt::format("{:.0f} % of the best", 100 * sweep.automatic_share()));
  if (!sweep.why_not_page_locked.empty()) {
    shell.line("memory", "not page-locked: " + sweep.why_not_page_locked);
  }
}

}  // namespace

int run_bench_load(const Args& args, Shell& shell) {
  LoadArguments arguments;
  if (!parse(arguments, args, shell)) return kOk;
  const std::shared_ptr<const Source> source = open_source(arguments.file, arguments.about);
  if (arguments.threads == 0) arguments.threads = usable_cpus();
  if (arguments.sweep) {
    run_sweep(arguments, source, shell);
    return kOk;
  }
  const Measured m = measure(source, measure_options(arguments));
  const Findings found = find(m, arguments.train_rate);
  if (shell.json) {
    print_json(shell, load_json(arguments, *source, m, found));
  } else {
    print_lines(arguments, m, found, shell);
  }
  return kOk;
}

}  // namespace tundish::cli
