// Measures a resize to 224x224 on one core, per instruction set and part:
//
//   begin       weights and tables of one crop
//   horizontal  the first pass over all rows of the crop
//   vertical    the second pass over all rows of the result
//   all         Resample as the loader uses it: strips of 16 rows in, rows out
//   store       224 rows into a batch, by type and layout
//
//   bench_resize ROUNDS     Prints a JSON line to stdout: microseconds, one figure per round, each
//                           the fastest of many calls. Compares with the reference first.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "augment/cpu/resample.h"
#include "augment/cpu/store.h"
#include "augment/cpu/testing.h"
#include "augment/transform.h"

namespace {

using namespace tundish;
using Clock = std::chrono::steady_clock;

constexpr int kSide = 224;
constexpr int kStripRows = 16;

struct Crop {
  int side;
  Filter filter;
};

constexpr Crop kCrops[] = {{150, Filter::bilinear},  {297, Filter::bilinear},
                           {500, Filter::bilinear},  {1000, Filter::bilinear},
                           {2000, Filter::bilinear}, {297, Filter::bicubic},
                           {297, Filter::nearest}};

const char* filter_name(Filter filter) {
  constexpr const char* kNames[] = {"nearest", "bilinear", "bicubic"};
  return kNames[static_cast<int>(filter)];
}

// Other load may disturb the machine: the fastest call is the undisturbed one.
template <class Work>
double fastest_us(const Work& work) {
  const auto end = Clock::now() + std::chrono::milliseconds(15);
  double best = 1e30;
  for (int calls = 0; calls < 5 || Clock::now() < end; ++calls) {
    const auto begin = Clock::now();
    work();
    best = std::min(best, std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  }
  return best;
}

ResizeStep step_of(const Crop& crop) {
  return {.crop = {0, 0, crop.side, crop.side},
          .size = {kSide, kSide},
          .filter = crop.filter,
          .keep = {0, 0, kSide, kSide}};
}

class Nowhere : public RowSink {
 public:
  void row(int, const std::uint8_t*, int, bool) override {}
};

// Pushes strips like a decoder, all from the same warm memory.
void push_all(Resample& resample, const TestImage& image) {
  const std::ptrdiff_t stride = std::ptrdiff_t{3} * image.size.width;
  for (int y = 0; y < image.size.height; y += kStripRows) {
    const int rows = std::min(kStripRows, image.size.height - y);
    resample.push({image.rgb.data(), stride, 0, y, image.size.width, rows});
  }
  resample.finish();
}

nlohmann::json time_resize(const Crop& crop, Cpu cpu, int rounds) {
  const TestImage image = noise({crop.side, crop.side}, 1);
  const ResizeStep step = step_of(crop);
  Resample resample(cpu);
  Random random({}, 0);
  const bool right = run_stage(resample, step, image, random) ==
                     resize_reference(image, {kSide, kSide}, crop.filter);

  Taps taps;
  make_taps(taps, crop.side, kSide, 0, kSide, crop.filter);
  const TapsView view{taps.outputs(), taps.count, taps.first.data(), taps.used.data(),
                      taps.weight.data()};
  const Passes& passes = passes_of(cpu);
  Buffer table_x, table_y, slots, out;
  passes.make_table_x(table_x.take(passes.table_x_bytes(view)), view);
  passes.make_table_y(table_y.take(passes.table_y_bytes(view)), view);
  SlotRing ring{nullptr, slot_bytes(passes, kSide), 1};
  while (ring.slots < taps.count / passes.rows + 2) ring.slots *= 2;
  std::uint8_t* slot = slots.take(ring.slot_bytes * static_cast<std::size_t>(ring.slots));
  ring.memory = slot;
  out.take(3 * kSide + 64);
  const std::uint8_t* rows[kMaxRows];
  for (int r = 0; r < kMaxRows; ++r) rows[r] = pixel(image, 0, r);

  Nowhere nowhere;
  nlohmann::json result{{"cpu", cpu_name(cpu)},
                        {"side", crop.side},
                        {"filter", filter_name(crop.filter)},
                        {"right", right}};
  for (int round = 0; round < rounds; ++round) {
    result["begin"].push_back(fastest_us([&] { resample.begin(step, image.size, nowhere); }));
    result["horizontal"].push_back(fastest_us([&] {
      for (int y = 0; y < crop.side; y += passes.rows) {
        const int number = y / passes.rows & (ring.slots - 1);
        passes.pass_x(slot + static_cast<std::size_t>(number) * ring.slot_bytes, rows,
                      table_x.data());
      }
    }));
    result["vertical"].push_back(fastest_us([&] {
      for (int y = 0; y < kSide; ++y) passes.pass_y(out.data(), ring, table_y.data(), y, 3 * kSide);
    }));
    result["all"].push_back(fastest_us([&] {
      resample.begin(step, image.size, nowhere);
      push_all(resample, image);
    }));
  }
  return result;
}

nlohmann::json time_store(Dtype dtype, bool planes, bool mirror, Cpu cpu, int rounds) {
  std::vector<Transform> transforms{ToDtype{dtype, true}};
  if (dtype != Dtype::uint8) transforms.emplace_back(Normalize{});
  const PixelTable table = pixel_table(transforms);
  const auto bytes = static_cast<std::ptrdiff_t>(dtype_bytes(dtype));
  const TestImage image = noise({kSide, kSide}, 2);
  constexpr int kImages = 64;  // in a batch: larger than the caches near the core
  std::vector<std::byte> batch(static_cast<std::size_t>(kImages * kSide * kSide * 3 * bytes));
  Placement place = planes ? Placement{nullptr, kSide * bytes, bytes, kSide * kSide * bytes}
                           : Placement{nullptr, kSide * 3 * bytes, 3 * bytes, bytes};
  Store store(cpu);
  int number = 0;
  nlohmann::json result{{"cpu", cpu_name(cpu)},
                        {"dtype", words(dtype)[static_cast<std::size_t>(dtype)]},
                        {"layout", planes ? "planes" : "interleaved"},
                        {"mirror", mirror}};
  for (int round = 0; round < rounds; ++round) {
    result["store"].push_back(fastest_us([&] {
      place.base = batch.data() + number * std::ptrdiff_t{kSide * kSide * 3} * bytes;
      number = (number + 1) % kImages;
      store.begin(table, place);
      for (int y = 0; y < kSide; ++y) store.row(y, pixel(image, 0, y), kSide, mirror);
    }));
  }
  return result;
}

}  // namespace

int main(int count, char** words) {
  const int rounds = count > 1 ? std::max(1, std::atoi(words[1])) : 3;
  nlohmann::json result{{"resize", nlohmann::json::array()}, {"store", nlohmann::json::array()}};
  for (const Cpu cpu : all_cpus()) {
    for (const Crop& crop : kCrops) result["resize"].push_back(time_resize(crop, cpu, rounds));
    for (const Dtype dtype : {Dtype::uint8, Dtype::float32, Dtype::float16}) {
      for (const bool planes : {false, true}) {
        for (const bool mirror : {false, true}) {
          result["store"].push_back(time_store(dtype, planes, mirror, cpu, rounds));
        }
      }
    }
  }
  fmt::print("{}\n", result.dump());
}
