#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "figures.h"

namespace tundish::cuda::bench {

namespace {

// Returns the median time of `work` on the stream, in milliseconds.
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

void time_kernels(const std::vector<Prepared>& batches, const Set& set, std::byte* out) {
  BatchDecoder decoder(*set.tables, set.table);
  cudaStream_t stream;
  cuda::check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
  for (const Prepared& batch : batches) decoder.reserve(batch.layout);
  const auto number = [&](int i) { return static_cast<std::size_t>(i) % batches.size(); };
  const auto memory = [&](int i) { return decoder.memory_of(batches[number(i)].on_gpu); };
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
  // The output kernel needs the results of the others for the same batch: time of all minus theirs.
  const double all = event_ms(stream, times, [&](int i) {
    decoder.decode_on_gpu(out, batches[number(i)].on_gpu, layout(i), stream);
  });
  print_figure("stage: weights", "ms per batch", {weights});
  print_figure("stage: entropy decoding", "ms per batch", {entropy});
  print_figure("stage: inverse DCT and store", "ms per batch", {units - entropy});
  print_figure("stage: output", "ms per batch", {all - units - weights});
  print_figure("stage: all kernels", "ms per batch", {all});
  cudaStreamDestroy(stream);
}

// Runs batches at full speed for a while, each on the next of several streams.
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

void time_copy(const std::vector<Prepared>& batches) {
  double bytes = 0;
  for (const Prepared& batch : batches) {
    bytes += static_cast<double>(batch.layout.bytes) / static_cast<double>(batches.size());
  }
  const double copy = event_ms(nullptr, 16, [&](int i) {
    const Prepared& batch = batches[static_cast<std::size_t>(i) % batches.size()];
    cuda::check(cudaMemcpyAsync(batch.on_gpu, batch.pinned.data, batch.layout.bytes,
                                cudaMemcpyHostToDevice, nullptr),
                "copy");
  });
  print_figure("stage: copy", "ms per batch", {copy});
  print_figure("copy", "GB/s", {bytes / copy / 1e6});
}

}  // namespace

void time_stages(const std::vector<Prepared>& batches, const Set& set, const Options& options) {
  std::byte* out = nullptr;
  cuda::check(cudaMalloc(&out, static_cast<std::size_t>(options.batch * kElements) * 2), "batch");
  time_kernels(batches, set, out);
  cudaFree(out);
  time_copy(batches);
}

void time_prepared(const std::vector<Prepared>& batches, const Set& set, const Options& options) {
  std::vector<std::unique_ptr<Lane>> lanes;
  for (int i = 0; i < 3; ++i) lanes.push_back(std::make_unique<Lane>(set, options.batch));
  for (const auto& lane : lanes) {
    for (const Prepared& batch : batches) lane->decoder->reserve(batch.layout);
  }
  std::vector<double> on_gpu[2], copied[3];
  for (int round = 0; round < options.rounds; ++round) {
    for (int streams = 1; streams <= 3; ++streams) {
      const auto run = [&](int i, bool copy) {
        Lane& lane = *lanes[static_cast<std::size_t>(i % streams)];
        const Prepared& batch = batches[static_cast<std::size_t>(i) % batches.size()];
        if (copy) {
          lane.decoder->decode(lane.out, batch.pinned.data, batch.layout, lane.stream);
        } else {
          lane.decoder->decode_on_gpu(lane.out, batch.on_gpu, batch.layout, lane.stream);
        }
      };
      const auto rate = [&](bool copy) {
        return rate_of(options.seconds, options.batch, [&](int i) { run(i, copy); });
      };
      copied[streams - 1].push_back(rate(true));
      if (streams < 3) on_gpu[streams - 1].push_back(rate(false));
    }
  }
  for (int streams = 1; streams <= 3; ++streams) {
    const auto s = static_cast<std::size_t>(streams - 1);
    if (streams < 3) {
      print_figure(fmt::format("on the device already, {} streams", streams), "images/s",
                   on_gpu[s]);
    }
    print_figure(fmt::format("prepared batches, {} streams", streams), "images/s", copied[s]);
  }
}

}  // namespace tundish::cuda::bench
