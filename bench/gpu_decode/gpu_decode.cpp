// Measures how fast lanes records in host memory become normalized batches on a GPU, and the time
// of each part. Prints one JSON object per figure: {"metric": ..., "unit": ..., "values": [...]}.
//
//   bench_gpu_decode FILE.tnd [--batch N] [--threads N] [--rounds N] [--seconds S]
//
// RandomResizedCrop(224), flip, bfloat16, Normalize. The records are copied repeatedly until they
// exceed any cache. Compares batches with the CPU path before timing.
#include <cuda_runtime.h>
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>

#include "figures.h"

namespace tundish::cuda::bench {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void print_figure(const std::string& metric, const std::string& unit,
                  const std::vector<double>& values) {
  fmt::print("{{\"metric\": \"{}\", \"unit\": \"{}\", \"values\": [{}]}}\n", metric, unit,
             fmt::join(values, ", "));
  std::fflush(stdout);
}

namespace {

// Plans batches, copies them to the GPU and prints their contents.
std::vector<Prepared> prepare_batches(const Set& set, const Options& options) {
  std::vector<Prepared> batches(8);
  double coded = 0, bytes = 0, units = 0, items = 0, planes = 0;
  for (std::size_t n = 0; n < batches.size(); ++n) {
    BatchPlan plan;
    plan_batch(plan, set, n, options.batch, true);
    Prepared& batch = batches[n];
    batch.layout = plan.layout();
    batch.pinned.reserve(batch.layout.bytes);
    plan.gather(batch.pinned.data);
    cuda::check(cudaMalloc(&batch.on_gpu, batch.layout.bytes), "batch");
    cuda::check(
        cudaMemcpy(batch.on_gpu, batch.pinned.data, batch.layout.bytes, cudaMemcpyHostToDevice),
        "copy");
    const auto images = static_cast<double>(options.batch * batches.size());
    coded += static_cast<double>(plan.coded_bytes()) / images;
    bytes += static_cast<double>(batch.layout.bytes) / images;
    units += static_cast<double>(batch.layout.units) / images;
    items += static_cast<double>(batch.layout.items) / images;
    planes += static_cast<double>(batch.layout.plane_bytes) / images;
  }
  print_figure("coded bytes needed", "bytes per image", {coded});
  print_figure("bytes sent", "bytes per image", {bytes});
  print_figure("units", "per image", {units});
  print_figure("tiles", "per image", {items});
  print_figure("planes", "bytes per image", {planes});
  return batches;
}

int run(const Options& options) {
  Set set;
  load(set, options.pack);
  const std::vector<Prepared> batches = prepare_batches(set, options);
  for (std::size_t n = 0; n < 2; ++n) compare(set, batches[n], n, options);
  time_stages(batches, set, options);
  time_prepared(batches, set, options);
  time_host(set, options);
  time_end_to_end(set, options);
  return 0;
}

}  // namespace
}  // namespace tundish::cuda::bench

int main(int count, char** words) {
  using namespace tundish::cuda::bench;
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    const char* value = i + 1 < count ? words[i + 1] : "";
    if (word == "--batch") {
      options.batch = std::strtoull(value, nullptr, 10), ++i;
    } else if (word == "--threads") {
      options.threads = std::atoi(value), ++i;
    } else if (word == "--rounds") {
      options.rounds = std::atoi(value), ++i;
    } else if (word == "--seconds") {
      options.seconds = std::atof(value), ++i;
    } else {
      options.pack = word;
    }
  }
  try {
    return run(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_gpu_decode: {}\n", error.what());
    return 1;
  }
}
