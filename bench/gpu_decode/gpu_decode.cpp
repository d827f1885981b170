// How fast lanes records in host memory become normalised batches on a GPU, and where the time
// goes. Prints one JSON object per figure: {"metric": ..., "unit": ..., "values": [...]}.
//
//   bench_gpu_decode FILE.tnd [--batch N] [--threads N] [--rounds N] [--seconds S]
//
// RandomResizedCrop(224), flip, bfloat16, Normalize. The records are copied until they are larger
// than any cache. Pixels first: batches are compared with the CPU path before anything is timed.
#include <cuda_runtime.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>

#include "cuda/decode/decoder.h"
#include "cuda/decode/testing.h"
#include "pack/reader.h"

namespace {

using namespace tundish;
using namespace tundish::cuda;

constexpr int kSide = 224;
constexpr std::uint64_t kElements = std::uint64_t{3} * kSide * kSide;
constexpr std::size_t kSetBytes = std::size_t{1} << 30;  // records in memory

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void tell(const std::string& metric, const std::string& unit, const std::vector<double>& values) {
  fmt::print("{{\"metric\": \"{}\", \"unit\": \"{}\", \"values\": [{}]}}\n", metric, unit,
             fmt::join(values, ", "));
  std::fflush(stdout);
}

struct Options {
  std::string pack;
  std::uint64_t batch = 512;
  int threads = 4;
  int rounds = 5;
  double seconds = 1.0;
};

struct Set {
  std::vector<std::byte> memory;
  std::vector<Bytes> records;
  const lanes::Tables* tables = nullptr;
  Transforms transforms;
  PixelTable table;
  std::shared_ptr<const Pack> pack;
};

void load(Set& set, const std::string& path) {
  set.pack = Pack::open(path);
  set.tables = set.pack->tables(0);
  set.transforms = {RandomResizedCrop{.size = {kSide, kSide}}, RandomHorizontalFlip{},
                    ToDtype{.dtype = Dtype::bfloat16, .scale = true},
                    Normalize{.mean = {0.485f, 0.456f, 0.406f}, .std = {0.229f, 0.224f, 0.225f}}};
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

// Batch number n of the run.
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

struct Pinned {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  void reserve(std::size_t more) {
    if (more <= bytes) return;
    cudaFreeHost(data);
    bytes = more + more / 8;
    cuda::check(cudaMallocHost(&data, bytes), "page-locked memory");
  }
};

struct Prepared {
  BatchLayout layout;
  Pinned pinned;
  std::byte* there = nullptr;
};

// The first batches on both paths.
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
        CpuRoad path;
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

// Milliseconds of `work` on the stream, the median of many.
double event_ms(cudaStream_t stream, int times, const std::function<void(int)>& work) {
  cudaEvent_t begin, end;
  cuda::check(cudaEventCreate(&begin), "event");
  cuda::check(cudaEventCreate(&end), "event");
  std::vector<double> all;
  for (int i = 0; i < times + 2; ++i) {
    cuda::check(cudaEventRecord(begin, stream), "event");
    work(i);
    cuda::check(cudaEventRecord(end, stream), "event");
    cuda::check(cudaEventSynchronize(end), "event");
    float ms = 0;
    cuda::check(cudaEventElapsedTime(&ms, begin, end), "event");
    if (i >= 2) all.push_back(static_cast<double>(ms));
  }
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}

void time_stages(const std::vector<Prepared>& batches, const Set& set, std::byte* out) {
  BatchDecoder decoder(*set.tables, set.table);
  cudaStream_t stream;
  cuda::check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
  for (const Prepared& batch : batches) decoder.reserve(batch.layout);
  const auto number = [&](int i) { return static_cast<std::size_t>(i) % batches.size(); };
  const auto memory = [&](int i) { return decoder.memory_of(batches[number(i)].there); };
  const auto layout = [&](int i) -> const BatchLayout& { return batches[number(i)].layout; };
  const int times = 3 * static_cast<int>(batches.size());
  const double weights =
      event_ms(stream, times, [&](int i) { make_weights(memory(i), layout(i), stream); });
  const double entropy = event_ms(stream, times, [&](int i) {
    decode_entropy(memory(i), layout(i), decoder.tables(), decoder.shape(), stream);
  });
  const double units = event_ms(stream, times, [&](int i) {
    decode_units(memory(i), layout(i), decoder.tables(), decoder.shape(), stream);
  });
  // Output needs what the others made of the same batch: with them, less them.
  const double all = event_ms(stream, times, [&](int i) {
    decoder.decode_on_gpu(out, batches[number(i)].there, layout(i), stream);
  });
  tell("stage: weights", "ms per batch", {weights});
  tell("stage: entropy decoding", "ms per batch", {entropy});
  tell("stage: inverse DCT and store", "ms per batch", {units - entropy});
  tell("stage: output", "ms per batch", {all - units - weights});
  tell("stage: all kernels", "ms per batch", {all});
  cudaStreamDestroy(stream);
}

// Batches as fast as they go, each on the next of several streams, for a while.
template <class One>
double rate_of(double seconds, std::uint64_t batch, const One& one) {
  for (int i = 0; i < 6; ++i) one(i);
  cuda::check(cudaDeviceSynchronize(), "run");
  const double begin = now();
  int count = 0;
  while (now() - begin < seconds) {
    for (int k = 0; k < 8; ++k) one(count++);
  }
  cuda::check(cudaDeviceSynchronize(), "run");
  return static_cast<double>(batch) * count / (now() - begin);
}

struct Lane {
  std::unique_ptr<BatchDecoder> decoder;
  cudaStream_t stream = nullptr;
  cudaEvent_t done = nullptr;
  std::byte* out = nullptr;

  Lane(const Set& set, std::uint64_t batch) {
    decoder = std::make_unique<BatchDecoder>(*set.tables, set.table);
    cuda::check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
    cuda::check(cudaEventCreateWithFlags(&done, cudaEventDisableTiming | cudaEventBlockingSync),
                "event");
    cuda::check(cudaMalloc(&out, static_cast<std::size_t>(batch * kElements) * 2), "batch");
  }
};

void time_prepared(const std::vector<Prepared>& batches, const Set& set, const Options& options) {
  std::vector<std::unique_ptr<Lane>> lanes;
  for (int i = 0; i < 3; ++i) lanes.push_back(std::make_unique<Lane>(set, options.batch));
  for (const auto& lane : lanes) {
    for (const Prepared& batch : batches) lane->decoder->reserve(batch.layout);
  }
  std::vector<double> there[2], copied[3];
  for (int round = 0; round < options.rounds; ++round) {
    for (int streams = 1; streams <= 3; ++streams) {
      const auto run = [&](int i, bool copy) {
        Lane& lane = *lanes[static_cast<std::size_t>(i % streams)];
        const Prepared& batch = batches[static_cast<std::size_t>(i) % batches.size()];
        if (copy) {
          lane.decoder->decode(lane.out, batch.pinned.data, batch.layout, lane.stream);
        } else {
          lane.decoder->decode_on_gpu(lane.out, batch.there, batch.layout, lane.stream);
        }
      };
      const auto rate = [&](bool copy) {
        return rate_of(options.seconds, options.batch, [&](int i) { run(i, copy); });
      };
      copied[streams - 1].push_back(rate(true));
      if (streams < 3) there[streams - 1].push_back(rate(false));
    }
  }
  for (int streams = 1; streams <= 3; ++streams) {
    const auto s = static_cast<std::size_t>(streams - 1);
    if (streams < 3) {
      tell(fmt::format("on the device already, {} streams", streams), "images/s", there[s]);
    }
    tell(fmt::format("prepared batches, {} streams", streams), "images/s", copied[s]);
  }
}

void time_host(const Set& set, const Options& options) {
  BatchPlan plan;
  Pinned to, plain;
  std::vector<double> draws, plans, checked, gathers, copies;
  std::vector<std::byte> from;
  for (int round = 0; round < options.rounds + 1; ++round) {
    const auto n = static_cast<std::uint64_t>(round);
    const auto images = static_cast<double>(options.batch);
    std::vector<View> views;
    std::vector<Bytes> records(options.batch);
    double begin = now();
    for (std::uint64_t i = 0; i < options.batch; ++i) {
      views.push_back(view_of(set, (1000 + n) * options.batch + i, records[i]));
    }
    draws.push_back((now() - begin) / images * 1e6);
    for (const bool check : {false, true}) {
      begin = now();
      plan.begin();
      for (std::uint64_t i = 0; i < options.batch; ++i) {
        (void)plan.add(records[i], views[i], place_of(i), check);
      }
      plan.finish();
      (check ? checked : plans).push_back((now() - begin) / images * 1e6);
    }
    // Other records than those the checksums were just made of.
    plan_batch(plan, set, 2000 + n, options.batch, false);
    to.reserve(plan.layout().bytes);
    begin = now();
    plan.gather(to.data);
    const double seconds = now() - begin;
    gathers.push_back(static_cast<double>(plan.layout().bytes) / seconds / 1e9);
    plain.reserve(plan.layout().bytes);
    const std::size_t bytes = plan.layout().bytes;
    const std::size_t at = static_cast<std::size_t>(n + 1) * bytes % (set.memory.size() - bytes);
    begin = now();
    std::memcpy(plain.data, set.memory.data() + at, bytes);
    copies.push_back(static_cast<double>(bytes) / (now() - begin) / 1e9);
    if (round > 0) continue;
    for (auto* values : {&draws, &plans, &checked, &gathers, &copies}) values->clear();
  }
  tell("host: random choices", "us per image", draws);
  tell("host: plan", "us per image", plans);
  tell("host: plan with checksums", "us per image", checked);
  tell("host: gather", "GB/s", gathers);
  tell("host: memcpy", "GB/s", copies);
}

// Everything: draw, plan, gather, copy, kernels; each thread makes separate batches.
double end_to_end(const Set& set, const Options& options, int threads, bool check) {
  struct Slot {
    BatchPlan plan;
    Pinned pinned;
    std::unique_ptr<Lane> lane;
  };
  std::vector<std::vector<Slot>> slots(static_cast<std::size_t>(threads));
  for (auto& of_thread : slots) {
    for (int k = 0; k < 2; ++k) {
      Slot& slot = of_thread.emplace_back();
      slot.lane = std::make_unique<Lane>(set, options.batch);
      plan_batch(slot.plan, set, 5000, options.batch, false);
      BatchLayout most = slot.plan.layout();
      most.bytes += most.bytes / 4;
      most.plane_bytes += most.plane_bytes / 4;
      most.weight_words += most.weight_words / 4;
      slot.pinned.reserve(most.bytes);
      slot.lane->decoder->reserve(most);
    }
  }
  std::atomic<std::uint64_t> next = 0, made = 0;
  std::atomic<bool> stop = false;
  const auto work = [&](std::vector<Slot>& mine) {
    for (std::size_t k = 0; !stop; k ^= 1) {
      Slot& slot = mine[k];
      plan_batch(slot.plan, set, 10000 + next++, options.batch, check);
      cuda::check(cudaEventSynchronize(slot.lane->done), "wait for the slot");
      slot.pinned.reserve(slot.plan.layout().bytes);
      slot.plan.gather(slot.pinned.data);
      slot.lane->decoder->decode(slot.lane->out, slot.pinned.data, slot.plan.layout(),
                                 slot.lane->stream);
      cuda::check(cudaEventRecord(slot.lane->done, slot.lane->stream), "event");
      ++made;
    }
  };
  std::vector<std::jthread> running;
  for (auto& mine : slots) running.emplace_back(work, std::ref(mine));
  std::this_thread::sleep_for(std::chrono::duration<double>(0.5));
  const std::uint64_t before = made;
  const double begin = now();
  std::this_thread::sleep_for(std::chrono::duration<double>(options.seconds));
  const double rate = static_cast<double>((made - before) * options.batch) / (now() - begin);
  stop = true;
  running.clear();
  cuda::check(cudaDeviceSynchronize(), "run");
  return rate;
}

int run(const Options& options) {
  Set set;
  load(set, options.pack);
  std::vector<Prepared> batches(8);
  double coded = 0, bytes = 0, units = 0, items = 0, planes = 0;
  for (std::size_t n = 0; n < batches.size(); ++n) {
    BatchPlan plan;
    plan_batch(plan, set, n, options.batch, true);
    Prepared& batch = batches[n];
    batch.layout = plan.layout();
    batch.pinned.reserve(batch.layout.bytes);
    plan.gather(batch.pinned.data);
    cuda::check(cudaMalloc(&batch.there, batch.layout.bytes), "batch");
    cuda::check(
        cudaMemcpy(batch.there, batch.pinned.data, batch.layout.bytes, cudaMemcpyHostToDevice),
        "copy");
    const auto images = static_cast<double>(options.batch * batches.size());
    coded += static_cast<double>(plan.coded_bytes()) / images;
    bytes += static_cast<double>(batch.layout.bytes) / images;
    units += static_cast<double>(batch.layout.units) / images;
    items += static_cast<double>(batch.layout.items) / images;
    planes += static_cast<double>(batch.layout.plane_bytes) / images;
  }
  tell("coded bytes needed", "bytes per image", {coded});
  tell("bytes sent", "bytes per image", {bytes});
  tell("units", "per image", {units});
  tell("tiles", "per image", {items});
  tell("planes", "bytes per image", {planes});
  for (std::size_t n = 0; n < 2; ++n) compare(set, batches[n], n, options);

  std::byte* out = nullptr;
  cuda::check(cudaMalloc(&out, static_cast<std::size_t>(options.batch * kElements) * 2), "batch");
  time_stages(batches, set, out);
  const double copy = event_ms(nullptr, 16, [&](int i) {
    const Prepared& batch = batches[static_cast<std::size_t>(i) % batches.size()];
    cuda::check(cudaMemcpyAsync(batch.there, batch.pinned.data, batch.layout.bytes,
                                cudaMemcpyHostToDevice, nullptr),
                "copy");
  });
  tell("stage: copy", "ms per batch", {copy});
  tell("copy", "GB/s", {bytes * static_cast<double>(options.batch) / copy / 1e6});
  time_prepared(batches, set, options);
  time_host(set, options);
  for (const bool check : {false, true}) {
    for (const int threads : {1, 2, options.threads, 2 * options.threads}) {
      std::vector<double> rates;
      for (int round = 0; round < std::min(options.rounds, 3); ++round) {
        rates.push_back(end_to_end(set, options, threads, check));
      }
      tell(fmt::format("end to end, {} cores{}", threads, check ? ", checksums" : ""), "images/s",
           rates);
    }
  }
  return 0;
}

}  // namespace

int main(int count, char** words) {
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
