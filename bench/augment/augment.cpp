// The tundish contestant of `bench augment`: PixelRunner on images in memory, planned once.
//
//   bench_augment FILE      FILE: images of 224x224, interleaved RGB, one after the other.
//
// Answers each JSON line on stdin with a JSON line on stdout, so that contestants can take turns:
//   {"transforms": [...], "milliseconds": 20}    {"us": mean over the images}
//   {"transforms": [...], "keep": FILE}          {}, after the results were written to FILE
// The first line is {"cpu": the instruction set}. Operations work in place, so the image is copied
// before each call. The copy is timed with the call; {"transforms": []} times the copy alone.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "augment/pixels/pixel_runner.h"
#include "augment/transforms_json.h"

namespace {

using namespace tundish;
using Clock = std::chrono::steady_clock;
using Image = std::vector<std::uint8_t>;

constexpr Size kSize{224, 224};
constexpr int kMinPasses = 5;

// CPU time: on a busy machine, long calls are interrupted more often than short ones.
double thread_us() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e6 * static_cast<double>(now.tv_sec) + 1e-3 * static_cast<double>(now.tv_nsec);
}

std::vector<Image> read_images(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<Image> out;
  Image one(std::size_t{3} * kSize.width * kSize.height);
  const auto bytes = static_cast<std::streamsize>(one.size());
  while (file.read(reinterpret_cast<char*>(one.data()), bytes)) out.push_back(one);
  return out;
}

// Returns the steps after the first one, which shows the image unchanged.
std::vector<PlanStep> plan(const Transforms& transforms) {
  check_transforms(transforms);
  const std::vector<PlanStep> steps = plan_view(transforms, kSize, {}).steps();
  return {steps.begin() + 1, steps.end()};
}

class Contestant {
 public:
  explicit Contestant(std::vector<Image> images) : images_(std::move(images)) {}

  nlohmann::json answer(const nlohmann::json& asked) {
    const std::vector<PlanStep> steps = plan(read_transforms(asked.at("transforms")));
    if (asked.contains("keep")) {
      keep(steps, asked["keep"]);
      return nlohmann::json::object();
    }
    return {{"us", mean_us(steps, asked.at("milliseconds"))}};
  }

 private:
  void run(const std::vector<PlanStep>& steps, const Image& image) {
    result_.assign(image.begin(), image.end());
    if (!steps.empty()) runner_.run(steps, result_, kSize);
  }

  void keep(const std::vector<PlanStep>& steps, const std::string& path) {
    std::ofstream file(path, std::ios::binary);
    for (const Image& image : images_) {
      run(steps, image);
      file.write(reinterpret_cast<const char*>(result_.data()),
                 static_cast<std::streamsize>(result_.size()));
    }
  }

  // The images take turns. The fastest call per image counts, because nothing disturbed it.
  double mean_us(const std::vector<PlanStep>& steps, int milliseconds) {
    std::vector<double> best(images_.size(), 1e30);
    const auto end = Clock::now() + std::chrono::milliseconds(milliseconds);
    for (int passes = 0; passes < kMinPasses || Clock::now() < end; ++passes) {
      for (std::size_t i = 0; i < images_.size(); ++i) {
        const double begin = thread_us();
        run(steps, images_[i]);
        best[i] = std::min(best[i], thread_us() - begin);
      }
    }
    double sum = 0;
    for (const double one : best) sum += one;
    return sum / static_cast<double>(best.size());
  }

  const std::vector<Image> images_;
  PixelRunner runner_;
  Image result_;
};

}  // namespace

int main(int count, char** words) {
  if (count != 2) {
    fmt::print(stderr, "usage: bench_augment FILE\n");
    return 2;
  }
  Contestant contestant(read_images(words[1]));
  fmt::print("{}\n", nlohmann::json{{"cpu", cpu_name(cpu())}}.dump());
  std::fflush(stdout);
  for (std::string line; std::getline(std::cin, line);) {
    fmt::print("{}\n", contestant.answer(nlohmann::json::parse(line)).dump());
    std::fflush(stdout);
  }
}
