// tundish bench load: where the time of one image goes, as a waterfall of the loader's stages.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "cli/json.h"
#include "cli/measure.h"
#include "cli/text.h"
#include "cli/verbs.h"
#include "core/machine/cpu.h"
#include "core/machine/usable_cpus.h"
#include "pack/open.h"

namespace tundish::cli {
namespace {

constexpr VerbHelp kHelp = {
    .verb = "bench load",
    .usage = "FILE [options]",
    .examples = R"(tundish bench load train.tnd
tundish bench load train.tnd --threads 4 --trainer 3000)",
    .text = R"(Loads shuffled batches of random resized crops with random flips, as fast as it
goes, and shows where the time of one image went: read, decode, augment, and what
is left (threads that wait for each other or for a CPU). --trainer says how many
images the training step could take in a second, and shows how much of its time it
would wait for data.)",
    .json = R"({file, records, size, batch_size, cpu, threads, images_per_second,
thread_us_per_image, stages, cpu_share, limit, skipped, trainer_images_per_second,
trainer_wait_share}; stages is an array of {stage, us_per_image, share}; cpu_share is
what the threads had of a CPU each)"};

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

// Each bar begins where the one before ends.
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

// Decoding and augmenting need the CPU all the time. Stages are measured in wall time:
// threads with less CPU time than that were preempted during them.
bool short_of_cpu(const Measured& m, double cpu_share) {
  return cpu_share < 0.8 * (m.decode_share + m.augment_share);
}

const char* advice(const std::string& limit) {
  if (limit == "read") return "a faster disk, or data that fit in memory";
  if (limit == "cpu") return "fewer threads, more CPUs or a machine that does nothing else";
  if (limit == "other") return "fewer threads, or a machine that does nothing else";
  return "more threads, or smaller images";
}

}  // namespace

int run_bench_load(const Words& words, Shell& shell) {
  std::string file;
  std::uint64_t threads = 0, size = 224, batch = 64, trainer = 0, milliseconds = 2000;
  Arguments arguments(kHelp, shell);
  arguments.word(file, "FILE", "a pack, or another source");
  add_threads(arguments, threads);
  arguments.option(size, "--size", "N", "side of the crops in pixels (224)", 1, 4096);
  arguments.option(batch, "--batch", "N", "images in a batch (64)", 1, 65536);
  arguments.option(trainer, "--trainer", "N", "images per second that training could take", 1,
                   1'000'000'000);
  arguments.option(milliseconds, "--milliseconds", "N", "time to load (2000)", 1, 3'600'000);
  if (!arguments.parse(words)) return kOk;

  const std::shared_ptr<const Source> source = open_source(file);
  if (threads == 0) threads = usable_cpus();
  const Measured m = measure(source, {.size = static_cast<int>(size),
                                      .batch_size = static_cast<std::uint32_t>(batch),
                                      .threads = static_cast<int>(threads),
                                      .seconds = static_cast<double>(milliseconds) / 1000});
  const Stages stages = stages_of(m);
  const double us_per_image =
      m.images == 0 ? 0 : 1e6 * static_cast<double>(m.threads) / m.images_per_second;
  std::string limit =
      std::max_element(stages.begin(), stages.end(), [](const StageTime& a, const StageTime& b) {
        return a.share < b.share;
      })->name;
  const double cpu_share = m.cpu_seconds / (m.seconds * static_cast<double>(m.threads));
  if (short_of_cpu(m, cpu_share)) limit = "cpu";
  const double wait =
      trainer == 0 ? 0 : std::max(0.0, 1 - m.images_per_second / static_cast<double>(trainer));
  if (shell.json) {
    Json out;
    out["file"] = json_text(file);
    out["records"] = source->count();
    out["size"] = size;
    out["batch_size"] = batch;
    out["cpu"] = cpu_name(cpu());
    out["threads"] = m.threads;
    out["images_per_second"] = m.images_per_second;
    out["thread_us_per_image"] = us_per_image;
    out["stages"] = Json::array();
    for (const StageTime& stage : stages) {
      out["stages"].push_back({{"stage", stage.name},
                               {"us_per_image", stage.share * us_per_image},
                               {"share", stage.share}});
    }
    out["cpu_share"] = cpu_share;
    out["limit"] = limit;
    out["skipped"] = m.skipped;
    out["trainer_images_per_second"] = trainer == 0 ? Json(nullptr) : Json(trainer);
    out["trainer_wait_share"] = trainer == 0 ? Json(nullptr) : Json(wait);
    print_json(shell, out);
    return kOk;
  }
  shell.print(fmt::format("  {}, random_resized_crop {}, batches of {}, {} thread{}\n\n",
                          printable(file), size, batch, m.threads, m.threads == 1 ? "" : "s"));
  shell.print(waterfall(stages, us_per_image));
  shell.print(
      fmt::format("  {:<9} {:>9.1f} us  of a thread for one image\n\n", "together", us_per_image));
  shell.line("rate", fmt::format("{} images/s, {:.1f} MB/s", rate_text(m.images_per_second),
                                 m.bytes_per_second / 1e6));
  shell.line("limit", fmt::format("{}: {} would help", limit, advice(limit)));
  if (m.skipped > 0) {
    shell.line("bad", fmt::format("{} samples were left out; what they took is in the stages",
                                  with_commas(m.skipped)));
  }
  shell.line("trainer", trainer == 0
                            ? fmt::format("waits for data when it could take more than {} images/s",
                                          rate_text(m.images_per_second))
                            : fmt::format("of {} images/s would wait {:.0f} % of its time",
                                          with_commas(trainer), 100 * wait));
  return kOk;
}

}  // namespace tundish::cli
