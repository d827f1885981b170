#include "batches.h"

#include <atomic>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "augment/transform.h"
#include "cuda/decode/testing.h"

namespace tundish::cuda::bench {

namespace {

constexpr std::size_t kSetBytes = std::size_t{1} << 30;  // records in memory

}  // namespace

void load(Set& set, const std::string& path) {
  set.pack = Pack::open(path);
  set.tables = set.pack->tables(0);
  set.transforms = {
      RandomResizedCrop{.size = {kSide, kSide}}, RandomHorizontalFlip{},
      ToDtype{.dtype = Dtype::bfloat16, .scale = true},
      Normalize{.mean = {{0.485f, 0.456f, 0.406f}}, .std = {{0.229f, 0.224f, 0.225f}}}};
  set.table = pixel_table(set.transforms);
  std::vector<Sample> samples;
  std::size_t bytes = 0;
  for (std::uint64_t i = 0; i < set.pack->count(); ++i) {
    if (set.pack->info(i).codec != Codec::lanes) continue;
    set.pack->read(samples.emplace_back(), i, FieldSet{1});
    bytes += samples.back().fields[0].size();
  }
  const std::size_t copies = kSetBytes / bytes + 1;
  set.memory.resize(copies * bytes);
  std::byte* to = set.memory.data();
  for (std::size_t k = 0; k < copies; ++k) {
    for (const Sample& sample : samples) {
      const auto& record = sample.fields[0];
      std::memcpy(to, record.data(), record.size());
      set.records.emplace_back(to, record.size());
      to += record.size();
    }
  }
}

View view_of(const Set& set, std::uint64_t draw, Bytes& record) {
  record = set.records[static_cast<std::size_t>(mix(1, draw) % set.records.size())];
  const auto size = lanes::read_size(record);
  return plan_view(set.transforms, {size->width, size->height}, {.seed = 3, .sample = draw});
}

ElementPlace place_of(std::uint64_t i) { return {i * kElements, kSide, 1, kSide * kSide}; }

void plan_batch(BatchPlan& plan, const Set& set, std::uint64_t n, std::uint64_t batch, bool check) {
  plan.begin();
  for (std::uint64_t i = 0; i < batch; ++i) {
    Bytes record;
    const View view = view_of(set, n * batch + i, record);
    const Added added = plan.add(record, view, place_of(i), check);
    if (added.fault || added.made_by != MadeBy::gpu) throw std::runtime_error("not for the GPU");
  }
  plan.finish();
}

void compare(const Set& set, const Prepared& batch, std::uint64_t n, const Options& options) {
  BatchDecoder decoder(*set.tables, set.table);
  const std::size_t bytes = static_cast<std::size_t>(options.batch * kElements) * 2;
  std::byte* out = nullptr;
  cuda::check(cudaMalloc(&out, bytes), "memory for a batch");
  decoder.decode(out, batch.pinned.data, batch.layout, nullptr);
  std::vector<std::byte> got(bytes), expected(bytes);
  cuda::check(cudaMemcpy(got.data(), out, bytes, cudaMemcpyDeviceToHost), "copy a batch");
  cudaFree(out);
  std::atomic<std::uint64_t> next = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 16; ++t) {
      threads.emplace_back([&] {
        CpuPath path;
        for (std::uint64_t i; (i = next++) < options.batch;) {
          Bytes record;
          const View view = view_of(set, n * options.batch + i, record);
          (void)path.make(expected.data(), record, view, set.table, place_of(i), *set.tables);
        }
      });
    }
  }
  if (got != expected) throw std::runtime_error("the GPU's pixels are not the CPU's");
}

}  // namespace tundish::cuda::bench
