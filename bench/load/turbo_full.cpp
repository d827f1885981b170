// A contestant in C++: libjpeg-turbo decodes every whole image, then the engine's own resize
// extracts the crop. It has no ring, no ordered batches and no Python. The loader's gain over this
// contestant is the region decode minus the costs of all other loader tasks.
//
//   bench_load plans SOURCE SEED EPOCHS            the crops the loader draws, int32 to stdout:
//                                                  x, y, width, height, mirrored; a row per
//                                                  sample and epoch
//   bench_load cpu                                 the name of the instruction set in use
//   bench_load full SOURCE SEED EPOCHS THREADS BATCH WARM [FILE N]
//                                                  loads every sample; a JSON line to stdout.
//                                                  The first WARM batches are not timed. With
//                                                  FILE: only samples 0 .. N-1, pixels into it
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "augment/cpu/resample.h"
#include "augment/cpu/store.h"
#include "augment/transform.h"
#include "base/machine/cpu.h"
#include "codec/decode/decode.h"
#include "data/order/order.h"
#include "data/pack/open.h"

namespace {

using namespace tundish;

constexpr int kSide = 224;
constexpr std::size_t kImageBytes = std::size_t{3} * kSide * kSide;

Transforms transforms() {
  return {RandomResizedCrop{.size = {kSide, kSide}}, RandomHorizontalFlip{}};
}

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Not getrusage: its peak is never below the memory of the parent process.
double peak_mb() {
  std::ifstream status("/proc/self/status");
  std::string word;
  double kib = 0;
  while (status >> word) {
    if (word == "VmHWM:") status >> kib;
  }
  return kib / 1024;
}

double cpu_s() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct Job {
  std::shared_ptr<const Source> source;  // second owner: main
  std::uint64_t seed = 0;
  int image_field = 0;
};

View plan(const Job& job, Size image, std::uint64_t epoch, std::uint64_t sample) {
  return plan_view(transforms(), image, {.seed = job.seed, .epoch = epoch, .sample = sample});
}

void check(const std::optional<Fault>& fault, const Job& job, std::uint64_t sample) {
  if (fault) throw SampleError(*fault, {.file = job.source->path(), .record = sample});
}

struct Worker {
  Sample sample;
  DecodeScratch decode;
  Resample resample;
  Store store;
};

ImageHeader read(const Job& job, std::uint64_t number, Worker& worker) {
  job.source->read(worker.sample, number, FieldSet{1} << job.image_field);
  ImageHeader header;
  check(read_header(header, worker.sample.fields[static_cast<std::size_t>(job.image_field)]), job,
        number);
  return header;
}

Size size_of(const ImageHeader& header) {
  return {static_cast<int>(header.width), static_cast<int>(header.height)};
}

void load_full(std::byte* out, const Job& job, const PixelTable& table, std::uint64_t epoch,
               std::uint64_t number, Worker& worker) {
  const ImageHeader header = read(job, number, worker);
  const Size size = size_of(header);
  const View view = plan(job, size, epoch, number);
  worker.store.begin(table, {.base = out, .dy = 3 * kSide, .dx = 3, .dc = 1});
  worker.resample.begin(view.first(), size, worker.store);
  const Window whole{0, 0, size.width, size.height};
  const Bytes bytes = worker.sample.fields[static_cast<std::size_t>(job.image_field)];
  check(decode(worker.resample, bytes, header, whole, worker.decode), job, number);
  worker.resample.finish();
}

void print_plans(const Job& job, std::uint64_t epochs) {
  Worker worker;
  for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
    for (std::uint64_t i = 0; i < job.source->count(); ++i) {
      const SampleInfo info = job.source->info(i);
      Size size{static_cast<int>(info.width), static_cast<int>(info.height)};
      if (size.width == 0) size = size_of(read(job, i, worker));
      const View view = plan(job, size, epoch, i);
      const ResizeStep& step = view.first();
      const std::int32_t row[5] = {step.crop.x, step.crop.y, step.crop.width, step.crop.height,
                                   step.mirror_x};
      std::fwrite(row, sizeof row, 1, stdout);
    }
  }
}

void run(const Job& job, std::uint64_t epochs, unsigned threads, std::uint64_t batch,
         std::uint64_t warm, const char* keep, std::uint64_t kept) {
  const double begin = now_s();
  const double imported = peak_mb();
  const std::uint64_t count = job.source->count();
  const std::uint64_t total = keep ? std::min(count, kept) : count * epochs;
  const PixelTable table = pixel_table(transforms());
  const std::uint64_t slots = keep ? total : batch * (threads + 4);
  std::vector<std::byte> pixels(kImageBytes * slots);
  std::atomic<std::uint64_t> next{0}, done{0};
  std::atomic<double> first{0}, warmed{begin}, cpu_warmed{cpu_s()};

  const auto work = [&] {
    Worker worker;
    for (std::uint64_t i; (i = next.fetch_add(1)) < total;) {
      const Draw draw = keep ? Draw{i} : draw_at({count, job.seed, true}, i / count, i % count);
      load_full(pixels.data() + kImageBytes * (i % slots), job, table, i / count, draw.sample,
                worker);
      const std::uint64_t finished = done.fetch_add(1) + 1;
      if (finished == batch) first = now_s() - begin;
      if (finished == batch * warm) {
        warmed = now_s();
        cpu_warmed = cpu_s();
      }
    }
  };
  std::vector<std::thread> others;
  for (unsigned t = 1; t < threads; ++t) others.emplace_back(work);
  work();
  for (std::thread& thread : others) thread.join();
  const double end = now_s();

  if (keep) {
    std::FILE* file = std::fopen(keep, "wb");
    if (!file || std::fwrite(pixels.data(), 1, pixels.size(), file) != pixels.size() ||
        std::fclose(file) != 0) {
      throw Error(ErrorCode::io_write, {.file = keep}, "the pixels could not be written");
    }
  }
  fmt::print(R"({{"images": {}, "timed_images": {}, "seconds": {:.6f}, "first_batch_s": {:.6f}, )"
             R"("cpu_s": {:.6f}, "peak_rss_mb": {:.1f}, "rss_beyond_imports_mb": {:.1f}}})"
             "\n",
             total, total - std::min(total, batch * warm), end - warmed, first.load(),
             cpu_s() - cpu_warmed, peak_mb(), peak_mb() - imported);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string verb = argc > 1 ? argv[1] : "";
  const auto number = [&](int i) { return std::strtoull(argv[i], nullptr, 10); };
  try {
    if (verb == "cpu") {
      fmt::print("{}\n", cpu_name(cpu()));
      return 0;
    }
    if (argc < 5 || (verb == "full" && argc < 8)) {
      throw Error(ErrorCode::argument, {}, "see the first lines of bench/load/turbo_full.cpp");
    }
    Job job{.source = open_source(argv[2]), .seed = number(3)};
    job.image_field = job.source->schema().find(FieldType::image);
    if (verb == "plans") {
      print_plans(job, number(4));
    } else {
      run(job, number(4), static_cast<unsigned>(number(5)), number(6), number(7),
          argc > 9 ? argv[8] : nullptr, argc > 9 ? number(9) : 0);
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_load: {}\n", error.what());
    return 1;
  }
}
