// tundish top: GPUs, host, disks and every running loader, live.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "cli/json.h"
#include "cli/progress.h"
#include "cli/top/full_screen.h"
#include "cli/verbs.h"
#include "tools/top/frame_text.h"
#include "tools/top/live_server.h"
#include "tools/top/snapshot_json.h"

namespace tundish::cli {
namespace {

constexpr VerbHelp kHelp = {
    .verb = "top",
    .usage = "[options]",
    .examples = R"(tundish top
tundish top --json --interval 1
tundish top --serve)",
    .text = R"(Shows GPUs, CPUs, control group, disks and every running loader of Tundish on this
machine, live: images and bytes per second, how long training waits for batches, what
the threads do, the cache, the epoch. Loaders need no option for this, and leave no file
behind. Press q to quit.

Without a terminal, and with --json, it prints one snapshot; with --interval, it prints
a snapshot at every interval. --serve shows charts in a browser on this machine. The
server answers only requests from this machine that have the random token of the
address.)",
    .json = R"({time, seconds, host, group, disks, gpus, loaders}, one line per snapshot; rates
cover the time since the previous snapshot; a loader has process, command, source, rank,
world_size, epoch, position, epoch_samples, batch_size, gpu_decodes, age_s,
samples_per_second, batches_per_second, bytes_per_second, shares of the time (waiting,
reading, decoding, augmenting, cache_hits), and stats: all of Loader.stats())"};

struct TopArguments {
  double interval = 0;  // seconds; 0: default
  std::uint64_t snapshots = 0, port = 0;
  bool serve = false;
  bool repeats() const { return interval > 0 || snapshots > 0; }
  int wait_ms() const {
    return interval > 0 ? static_cast<int>(std::lround(1000 * interval)) : 1000;
  }
};

// Returns false if help was requested.
bool parse(TopArguments& out, const Args& args, Shell& shell) {
  Arguments arguments(kHelp, shell);
  arguments.option(out.interval, "--interval", "SECONDS", "seconds between two snapshots (1)", 0.1,
                   3600);
  arguments.option(out.snapshots, "--snapshots", "N", "end after N snapshots", 1, 1'000'000'000);
  arguments.flag(out.serve, "--serve", "charts in a browser of this machine");
  arguments.section("--serve");
  arguments.option(out.port, "--port", "N", "the port (any free one)", 1, 65535);
  return arguments.parse(args);
}

// Sleeps in short intervals so that Ctrl-C can end the wait; returns false after Ctrl-C.
bool wait(int milliseconds) {
  const std::uint64_t end = now_ns() + static_cast<std::uint64_t>(milliseconds) * 1'000'000;
  while (!stop_flag().load() && now_ns() < end) {
    const auto left = static_cast<useconds_t>((end - now_ns()) / 1000 + 1);
    ::usleep(std::min<useconds_t>(left, 100'000));  // a signal also ends the sleep
  }
  return !stop_flag().load();
}

int print_snapshots(const TopArguments& arguments, Sampler& sampler, const Shell& shell) {
  const FrameStyle style{.width = 160, .blocks = false};
  sampler.take();  // rates need two snapshots
  for (std::uint64_t done = 0;; ++done) {
    if (!wait(arguments.repeats() ? arguments.wait_ms() : 500)) return kInterrupted;
    const Snapshot snapshot = sampler.take();
    if (shell.json) {
      print_json(shell, snapshot_json(snapshot));
    } else if (!shell.quiet) {
      for (const std::string& line : frame_lines(snapshot, style)) shell.print(line + '\n');
    }
    shell.flush();
    if (!arguments.repeats() || done + 1 == arguments.snapshots) return kOk;
    if (!shell.json && !shell.quiet) shell.print("\n");
  }
}

int show_live(const TopArguments& arguments, Sampler& sampler, bool color) {
  const FullScreen screen;
  const bool blocks = has_blocks();
  sampler.take();
  for (std::uint64_t done = 0; !stop_flag().load(); ++done) {
    // Shows the first rates early, although they cover a short time.
    if (screen.wait_for_quit(done == 0 ? 250 : arguments.wait_ms())) return kOk;
    if (done > 0 && done == arguments.snapshots) return kOk;
    std::vector<std::string> lines =
        frame_lines(sampler.take(), {.width = screen.size().width, .blocks = blocks});
    if (color) std::transform(lines.begin(), lines.end(), lines.begin(), in_color);
    lines.emplace_back();
    lines.push_back(cut_to_width("q: end", screen.size().width));
    screen.draw(lines);
  }
  return kOk;  // Ctrl-C is the normal way to quit
}

int serve(const TopArguments& arguments, Sampler& sampler, Shell& shell) {
  LiveServer server(static_cast<std::uint16_t>(arguments.port));
  if (shell.json) {
    print_json(shell, Json{{"address", server.address()}});
  } else {
    shell.print(fmt::format("{}\n", server.address()));
    shell.message("open", "that address in a browser of this machine; Ctrl-C ends it");
    shell.message("from", fmt::format("another machine: ssh -L {0}:127.0.0.1:{0} THIS-MACHINE",
                                      server.port()));
  }
  shell.flush();
  sampler.take();
  std::string kept;
  std::uint64_t kept_ns = 0;
  const auto snapshot = [&] {  // shared by all browsers
    if (kept.empty() || now_ns() - kept_ns > 500'000'000) {
      kept = snapshot_json(sampler.take()).dump();
      kept_ns = now_ns();
    }
    return kept;
  };
  while (!stop_flag().load()) server.serve(1000, snapshot);
  return kOk;
}

}  // namespace

int run_top(const Args& args, Shell& shell) {
  TopArguments arguments;
  if (!parse(arguments, args, shell)) return kOk;
  if (arguments.serve && arguments.repeats()) {
    throw UsageError("--serve takes neither --interval nor --snapshots: the page asks");
  }
  Sampler sampler;
  if (arguments.serve) return serve(arguments, sampler, shell);
  const bool live =
      !shell.json && !shell.quiet && ::isatty(STDOUT_FILENO) && ::isatty(STDIN_FILENO);
  return live ? show_live(arguments, sampler, shell.out_color)
              : print_snapshots(arguments, sampler, shell);
}

}  // namespace tundish::cli
