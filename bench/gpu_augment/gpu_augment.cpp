// Times only the kernels that run PixelSteps, on 224x224 images in GPU memory.
//
//   bench_gpu_augment [--images N] [--rounds N]
//
// Answers each JSON line on stdin with a JSON line on stdout:
//   {"transforms": [...]}    {"us": [microseconds per image, one per round], "steps": mean number}
// Every image has its own draw of the transforms. Compares pixels first: {"wrong": N} is the answer
// if N of the compared images differ from the reference implementation.
#include <cuda_runtime.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "augment/pixels/noise/normal_ops.h"
#include "augment/pixels/pixel_runner.h"
#include "augment/transforms_json.h"
#include "cuda/augment/pixel_steps.h"
#include "cuda/augment/step_order.h"
#include "cuda/augment/step_scratch.h"
#include "cuda/runtime/runtime.h"

namespace {

using namespace tundish;
using namespace tundish::cuda;

constexpr Size kSize{224, 224};
constexpr std::size_t kBytes = std::size_t{3} * 224 * 224;
constexpr std::size_t kDifferent = 16;  // distinct images, repeated
constexpr std::size_t kCompared = 24;
constexpr std::size_t kNormalBytes = sizeof(float) * (kNormalParts + 1);

// Waves and a little noise: as in photos, levels are spread and neighbors are similar.
std::vector<std::uint8_t> picture(std::uint64_t number) {
  Random random({.seed = 5, .sample = number}, 0);
  double wave[3][4];
  for (auto& one : wave) {
    for (double& value : one) value = random.uniform(0.01, 0.09);
  }
  std::vector<std::uint8_t> out(kBytes);
  for (std::size_t i = 0; i < kBytes; ++i) {
    const auto& w = wave[i % 3];
    const auto x = static_cast<double>(i / 3 % 224), y = static_cast<double>(i / 3 / 224);
    const double level = 128 + 70 * std::sin(w[0] * x + w[1] * y) +
                         45 * std::sin(w[2] * y - w[3] * x) + random.uniform(-9, 9);
    out[i] = static_cast<std::uint8_t>(std::min(std::max(level, 0.0), 255.0));
  }
  return out;
}

class Bench {
 public:
  Bench(int images, int rounds) : count_(static_cast<std::size_t>(images)), rounds_(rounds) {
    for (std::size_t i = 0; i < kDifferent; ++i) pictures_.push_back(picture(i));
    for (DeviceMemory* memory : {&given_, &images_, &other_}) memory->reserve(count_ * kBytes);
    for (std::size_t i = 0; i < count_; ++i) {
      copy(given_.as<std::uint8_t>() + i * kBytes, pictures_[i % kDifferent].data(), kBytes);
    }
    normal_.reserve(kNormalBytes);
    copy(normal_.as<float>(), normal_table(), kNormalBytes);
    check(cudaEventCreate(&begin_), "make an event");
    check(cudaEventCreate(&end_), "make an event");
  }
  ~Bench() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }

  nlohmann::json answer(const nlohmann::json& asked) {
    const Transforms transforms = read_transforms(asked.at("transforms"));
    check_transforms(transforms);
    std::vector<PixelStep> steps;
    std::vector<StepRange> ranges;
    for (std::size_t i = 0; i < count_; ++i) {
      const auto first = static_cast<std::uint32_t>(steps.size());
      const View view = plan_view(transforms, kSize, {.seed = 1, .sample = i});
      for (const PlanStep& step : view.steps()) {
        if (const auto* one = std::get_if<PixelStep>(&step)) steps.push_back(*one);
      }
      ranges.push_back({first, static_cast<std::uint32_t>(steps.size()) - first});
    }
    steps_.reserve(steps.size() * sizeof(PixelStep) + 1);
    ranges_.reserve(ranges.size() * sizeof(StepRange));
    order_.reserve(ranges.size() * sizeof(std::uint32_t));
    copy(steps_.as<void>(), steps.data(), steps.size() * sizeof(PixelStep));
    copy(ranges_.as<void>(), ranges.data(), ranges.size() * sizeof(StepRange));
    std::vector<std::uint32_t> order;
    order_by_cost(order, ranges, steps);
    copy(order_.as<void>(), order.data(), order.size() * sizeof(std::uint32_t));
    scratch_blocks_ = 0;
    if (needs_scratch(steps, kSize)) {
      check(find_scratch_blocks(scratch_blocks_), "find how many blocks run at once");
      scratch_.reserve(static_cast<std::size_t>(scratch_blocks_) * scratch_bytes(kSize));
    }

    std::vector<double> us;
    for (int round = -1; round < rounds_; ++round) {
      const double one = run_once();
      if (round >= 0) us.push_back(one);
    }
    if (const int wrong = count_wrong(steps, ranges); wrong > 0) return {{"wrong", wrong}};
    return {{"us", us}, {"steps", static_cast<double>(steps.size()) / static_cast<double>(count_)}};
  }

 private:
  static void copy(void* to, const void* from, std::size_t bytes) {
    check(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), "copy");
  }

  // Returns microseconds per image.
  double run_once() {
    check(cudaMemcpyAsync(images_.as<void>(), given_.as<void>(), count_ * kBytes,
                          cudaMemcpyDeviceToDevice, nullptr),
          "copy");
    check(cudaEventRecord(begin_, nullptr), "record");
    check(run_pixel_steps({.images = images_.as<std::uint8_t>(),
                           .other = other_.as<std::uint8_t>(),
                           .ranges = ranges_.as<StepRange>(),
                           .order = order_.as<std::uint32_t>(),
                           .steps = steps_.as<PixelStep>(),
                           .normal = normal_.as<float>(),
                           .count = static_cast<int>(count_),
                           .size = kSize,
                           .scratch = scratch_blocks_ > 0 ? scratch_.as<std::byte>() : nullptr,
                           .scratch_blocks = scratch_blocks_},
                          nullptr),
          "run the kernels");
    check(cudaEventRecord(end_, nullptr), "record");
    check(cudaEventSynchronize(end_), "run the kernels");
    float ms = 0;
    check(cudaEventElapsedTime(&ms, begin_, end_), "time");
    return 1e3 * static_cast<double>(ms) / static_cast<double>(count_);
  }

  int count_wrong(const std::vector<PixelStep>& steps, const std::vector<StepRange>& ranges) {
    int wrong = 0;
    std::vector<std::uint8_t> got(kBytes);
    for (std::size_t i = 0; i < std::min(kCompared, count_); ++i) {
      std::vector<std::uint8_t> image = pictures_[i % kDifferent];
      Size size = kSize;
      run_reference(std::span(steps).subspan(ranges[i].first, ranges[i].count), image, size);
      check(cudaMemcpy(got.data(), images_.as<std::uint8_t>() + i * kBytes, kBytes,
                       cudaMemcpyDeviceToHost),
            "copy");
      wrong += got != image;
    }
    return wrong;
  }

  const std::size_t count_;
  const int rounds_;
  std::vector<std::vector<std::uint8_t>> pictures_;
  DeviceMemory given_, images_, other_, steps_, ranges_, order_, normal_, scratch_;
  int scratch_blocks_ = 0;  // 0: no step needs scratch
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

}  // namespace

int main(int count, char** words) {
  int images = 1056, rounds = 7;  // eight images for each of an H200's 132 multiprocessors
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string word = words[i];
    if (word == "--images") images = std::atoi(words[i + 1]);
    if (word == "--rounds") rounds = std::atoi(words[i + 1]);
  }
  try {
    Bench bench(images, rounds);
    for (std::string line; std::getline(std::cin, line);) {
      fmt::print("{}\n", bench.answer(nlohmann::json::parse(line)).dump());
      std::fflush(stdout);
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_gpu_augment: {}\n", error.what());
    return 1;
  }
}
