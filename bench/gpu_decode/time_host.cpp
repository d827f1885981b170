#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "figures.h"

namespace tundish::cuda::bench {

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
    // Uses other records than those whose checksums were just computed.
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
  print_figure("host: random choices", "us per image", draws);
  print_figure("host: plan", "us per image", plans);
  print_figure("host: plan with checksums", "us per image", checked);
  print_figure("host: gather", "GB/s", gathers);
  print_figure("host: memcpy", "GB/s", copies);
}

namespace {

// Returns images per second; each thread makes separate batches.
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

}  // namespace

void time_end_to_end(const Set& set, const Options& options) {
  for (const bool check : {false, true}) {
    for (const int threads : {1, 2, options.threads, 2 * options.threads}) {
      std::vector<double> rates;
      for (int round = 0; round < std::min(options.rounds, 3); ++round) {
        rates.push_back(end_to_end(set, options, threads, check));
      }
      print_figure(fmt::format("end to end, {} cores{}", threads, check ? ", checksums" : ""),
                   "images/s", rates);
    }
  }
}

}  // namespace tundish::cuda::bench
