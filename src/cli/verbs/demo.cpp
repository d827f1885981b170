// tundish demo: Tundish from end to end on one screen. Runs the verbs as a user would type them;
// `python -m tundish demo-page --work FOLDER` does the parts that need PyTorch.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "base/machine/usable_cpus.h"
#include "cli/json.h"
#include "cli/measure.h"
#include "cli/progress.h"
#include "cli/python.h"
#include "cli/samples/demo_folder.h"
#include "cli/samples/sample_set.h"
#include "cli/text.h"
#include "cli/verbs.h"
#include "data/pack/reader.h"

namespace tundish::cli {
namespace {

namespace fs = std::filesystem;

constexpr VerbHelp kHelp = {
    .verb = "demo",
    .usage = "[options]",
    .examples = R"(tundish demo
tundish demo --data photos/)",
    .text = R"(Makes a set of labeled sample photos (or uses yours), packs it and verifies the
pack. Measures the loader with one thread and with all threads, then compares it with
torch's DataLoader on the same images. Trains a small network, writes a page with the
results, and ends with the doctor's verdict on this training, once with torch's
DataLoader and once with Tundish. The part after the measurement needs a Python with
tundish and torch next to this program; without it, the demo ends there. Everything is
written to --work, a folder that is new, empty or from an earlier demo.)",
    .json = R"({work, pack, samples, file_bytes, rows, python}; rows as tundish bench prints them;
python is null, or what the second half printed as JSON on the next line)"};

struct Demo {
  std::string work;
  std::string source;
  std::string folder;  // as in demo.json: our own set by its name in `work`
  std::string pack;
  std::vector<std::pair<std::string, std::string>> steps;  // for the page
};

// Prints a step, and records it for the page.
void print_step(Demo& demo, Shell& shell, const char* word, const std::string& text) {
  demo.steps.emplace_back(word, text);
  shell.message(word, text);
}

void make_set(Demo& demo, Shell& shell, std::uint64_t images) {
  demo.folder = "photos";
  demo.source = demo.work + "/photos";
  std::error_code failed;
  fs::remove_all(demo.source, failed);  // an older demo may have made more files
  Progress progress(shell, "making", "img");
  const SampleSetOptions options{
      .count = static_cast<int>(images),
      .progress =
          [&](int done) {
            progress.show({.items = static_cast<std::uint64_t>(done), .items_total = images});
          },
      .stop = &stop_flag()};
  const std::uint64_t bytes = make_sample_set(demo.source, options);
  progress.wipe();
  print_step(
      demo, shell, "made",
      fmt::format("{} sample photos in {} classes, {} in {}", with_commas(images), options.classes,
                  bytes_text(static_cast<double>(bytes)), duration_text(progress.seconds())));
}

// Runs a verb as if typed, but without output. Returns false if it found bad data: the demo
// continues without the bad samples of the user's set.
bool quietly(int (*verb)(const Args&, Shell&), const Args& args, const Shell& shell) {
  Shell silent = shell;
  silent.quiet = true;
  silent.json = false;
  const int code = verb(args, silent);
  if (code != kOk && code != kDamaged) throw std::runtime_error("a step of the demo failed");
  return code == kOk;
}

// Packs the set, then verifies every checksum and image.
std::shared_ptr<const Pack> pack_and_verify(Demo& demo, Shell& shell) {
  const auto since = [](std::chrono::steady_clock::time_point start) {
    return duration_text(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  };
  const auto packing = std::chrono::steady_clock::now();
  if (!quietly(run_pack, {demo.source, "-o", demo.pack, "--force"}, shell)) {
    shell.warn(fmt::format("some files were refused; {}.log names them", printable(demo.pack)));
  }
  std::shared_ptr<const Pack> pack = Pack::open(demo.pack);
  print_step(demo, shell, "packed",
             fmt::format("{}  {}, {} in {}", printable(demo.pack), counted(pack->count(), "sample"),
                         bytes_text(static_cast<double>(pack->file_bytes())), since(packing)));
  const auto verifying = std::chrono::steady_clock::now();
  const bool ok = quietly(run_verify, {demo.pack, "--pixels"}, shell);
  print_step(demo, shell, "verified",
             fmt::format("every checksum and every image in {}{}", since(verifying),
                         ok ? "" : "; some images are broken: tundish verify --pixels names them"));
  return pack;
}

// Measures with one thread and with all CPUs.
std::vector<Series> time_loader(Demo& demo, Shell& shell, const std::shared_ptr<const Pack>& pack,
                                double seconds) {
  std::vector<int> threads = {1, static_cast<int>(usable_cpus())};
  if (threads[0] == threads[1]) threads.pop_back();
  std::vector<Series> rows = measure_all(pack, {.seconds = seconds}, threads, 3);
  for (const Series& row : rows) {
    print_step(
        demo, shell, "loaded",
        fmt::format("{} images/s with {} thread{}: random crops of 224 x 224, median of {} runs",
                    rate_text(row.median.images_per_second), row.median.threads,
                    row.median.threads == 1 ? "" : "s", row.runs));
  }
  return rows;
}

// Writes the input of the second half.
void write_about(const Demo& demo) {
  Json about;
  about["pack"] = json_text(fs::path(demo.pack).filename().string());
  about["folder"] = fs::is_directory(demo.source) ? Json(json_text(demo.folder)) : Json();
  about["steps"] = Json::array();
  for (const auto& [word, text] : demo.steps) about["steps"].push_back({word, text});
  std::ofstream out(demo.work + "/demo.json");
  out << about.dump(2) << '\n';
  if (!out.flush()) throw Error(ErrorCode::io_write, {.file = demo.work + "/demo.json"}, "");
}

void print_as_json(const Demo& demo, const Shell& shell, const Pack& pack,
                   const std::vector<Series>& rows, const std::string& python) {
  Json out;
  out["work"] = json_text(demo.work);
  out["pack"] = json_text(demo.pack);
  out["samples"] = pack.count();
  out["file_bytes"] = pack.file_bytes();
  out["rows"] = Json::array();
  for (const Series& row : rows) out["rows"].push_back(series_json(row));
  out["python"] = python.empty() ? Json() : Json(json_text(python));
  print_json(shell, out);
  shell.flush();
}

}  // namespace

int run_demo(const Args& args, Shell& shell) {
  Demo demo;
  demo.work = "tundish-demo";
  std::uint64_t samples = 1000;
  double seconds = 0;  // 0: each half's default
  std::string steps;
  Arguments arguments(kHelp, shell);
  arguments.option(demo.source, "--data", "SRC", "your own folder, list or archive");
  arguments.option(demo.work, "--work", "FOLDER", "where to write (tundish-demo)");
  arguments.option(samples, "--samples", "N", "sample photos to make (1000)", 10, 1'000'000);
  arguments.option(seconds, "--seconds", "SECONDS", "length of a timed run (1; against torch 2.5)",
                   0.001, 3600);
  arguments.option(steps, "--steps", "N", "training steps");
  if (!arguments.parse(args)) return kOk;

  take_demo_folder(demo.work);
  demo.pack = demo.work + "/demo.tnd";
  if (demo.source.empty()) {
    make_set(demo, shell, samples);
  } else {
    demo.folder = fs::absolute(demo.source).string();
  }
  const std::shared_ptr<const Pack> pack = pack_and_verify(demo, shell);
  const std::vector<Series> rows = time_loader(demo, shell, pack, seconds > 0 ? seconds : 1);
  write_about(demo);

  const std::vector<std::string> python = find_python(shell);
  if (shell.json) print_as_json(demo, shell, *pack, rows, python.empty() ? "" : python[0]);
  if (python.empty()) {
    shell.line(
        "next",
        "no Python here can import tundish, so the comparison with torch, the training\n"
        "            and the page are left out: pip install tundish torch, and run this again");
    return kOk;
  }
  std::vector<std::string> more = {"demo-page", "--work", demo.work};
  if (shell.json) more.emplace_back("--json");
  if (shell.quiet) more.emplace_back("--quiet");
  if (seconds > 0) more.insert(more.end(), {"--seconds", fmt::format("{}", seconds)});
  if (!steps.empty()) more.insert(more.end(), {"--steps", steps});
  return run_python(python, more);
}

}  // namespace tundish::cli
