// Compares batches decoded by the GPU with the CPU path, byte for byte:
//
//   check_decode random CASES SEED      any shape, sampling, crop, padding, filter, type, layout
//   check_decode photos FILE.tnd CROPS  crops of every photo of a pack
// check_decode hostile CASES SEED     records with changed bytes and correct checksums: pixels
// equal to the CPU's, or refused like on the CPU
// check_decode flips BYTES SEED       the same for every single bit of that many bytes of records
//
// Prints one line. Exits with 1 if anything differed.
#include <cuda_runtime.h>
#include <fmt/format.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "augment/transform.h"
#include "base/machine/usable_cpus.h"
#include "cuda/decode/decoder.h"
#include "cuda/decode/testing.h"
#include "data/pack/reader.h"

namespace {

using namespace tundish;
using namespace tundish::cuda;

constexpr int kPoison = 0x5a;

struct Case {
  std::vector<std::byte> record;
  View view = View({1, 1});
  ElementPlace place;
  std::optional<Fault> fault;  // found by the CPU
};

struct Totals {
  std::uint64_t cases = 0, elements = 0, on_cpu = 0, refused = 0, wrong = 0;
};

template <class Work>
void in_parallel(std::size_t count, const Work& work) {
  std::atomic<std::size_t> next = 0;
  std::vector<std::jthread> threads;
  const unsigned cpus = std::min(usable_cpus(), 16u);
  for (unsigned i = 0; i < cpus; ++i) {
    threads.emplace_back([&] {
      CpuPath path;
      for (std::size_t k; (k = next++) < count;) work(k, path);
    });
  }
}

std::size_t at(std::uint64_t i) { return static_cast<std::size_t>(i); }

// A batch made on both paths.
struct Checked {
  std::vector<Case>& cases;
  BatchPlan plan = {};
  std::vector<std::size_t> planned = {};  // case number of each image
  std::vector<bool> skipped = {};         // by the plan, per case
  std::vector<bool> refused = {};         // by the GPU, per case
  std::vector<std::byte> expected = {}, got = {};
  std::vector<std::uint32_t> errors = {};  // per image
};

void plan_cases(Totals& totals, Checked& batch) {
  batch.plan.begin();
  batch.skipped.resize(batch.cases.size());
  for (std::size_t i = 0; i < batch.cases.size(); ++i) {
    Case& one = batch.cases[i];
    const Added added = batch.plan.add(one.record, one.view, one.place, true);
    if (!added.fault && added.made_by == MadeBy::gpu) {
      batch.planned.push_back(i);
    } else {
      batch.skipped[i] = true;
      totals.on_cpu += !added.fault;
      one.fault = added.fault;
    }
  }
  batch.plan.finish();
}

void make_on_cpu(Checked& batch, const PixelTable& table, const lanes::Tables& tables) {
  in_parallel(batch.cases.size(), [&](std::size_t i, CpuPath& path) {
    Case& one = batch.cases[i];
    if (batch.skipped[i] && !one.fault) return;
    const auto fault =
        path.make(batch.expected.data(), one.record, one.view, table, one.place, tables);
    if (batch.skipped[i] && (!fault || fault->reason != one.fault->reason)) {
      one.fault = Fault{ErrorCode::none, "the plan refused what the CPU decodes", 0};
    } else {
      one.fault = fault;
    }
  });
}

void make_on_gpu(Checked& batch, const PixelTable& table, const lanes::Tables& tables) {
  const BatchLayout& layout = batch.plan.layout();
  const std::size_t bytes = batch.got.size();
  std::byte* pinned = nullptr;
  check(cudaMallocHost(&pinned, at(layout.bytes)), "page-locked memory");
  batch.plan.gather(pinned);
  std::byte* out = nullptr;
  check(cudaMalloc(&out, bytes + 1), "memory for the batch");
  check(cudaMemset(out, kPoison, bytes), "fill the batch");
  BatchDecoder decoder(tables, table);
  decoder.decode(out, pinned, layout, nullptr);
  batch.errors.resize(layout.images + 1);
  decoder.copy_errors(batch.errors.data(), layout, nullptr);
  check(cudaMemcpy(batch.got.data(), out, bytes, cudaMemcpyDeviceToHost), "copy the batch back");
  check(cudaDeviceSynchronize(), "run the kernels");
  cudaFreeHost(pinned);
  cudaFree(out);
}

void say(Totals& totals, const Checked& batch, std::size_t i, const std::string& what) {
  if (totals.wrong++ >= 8) return;
  const Case& one = batch.cases[i];
  const Size image = size_of(one.record);
  const ResizeStep& step = one.view.first();
  fmt::print(
      "case {}: {}x{} kind {:02x}, crop {},{} {}x{} to {}x{} keep {},{} {}x{} filter {} "
      "pad {} mirror {}{} backwards {}{}: {}\n",
      totals.cases + i, image.width, image.height, static_cast<unsigned>(one.record[2]),
      step.crop.x, step.crop.y, step.crop.width, step.crop.height, step.size.width,
      step.size.height, step.keep.x, step.keep.y, step.keep.width, step.keep.height,
      static_cast<int>(step.filter), static_cast<int>(step.pad_mode), int{step.mirror_x},
      int{step.mirror_y}, int{step.backwards_x}, int{step.backwards_y}, what);
}

// A record refused by the CPU must be refused by the GPU, for the same unit.
void compare_refusals(Totals& totals, Checked& batch) {
  batch.refused.resize(batch.cases.size());
  for (std::size_t k = 0; k < batch.planned.size(); ++k) {
    const std::size_t i = batch.planned[k];
    const Case& one = batch.cases[i];
    const std::uint32_t error = batch.errors[k];
    batch.refused[i] = error != kNoError;
    if (batch.refused[i] != one.fault.has_value()) {
      say(totals, batch, i,
          batch.refused[i] ? "refused by the GPU alone" : "refused by the CPU alone");
      continue;
    }
    if (!batch.refused[i]) continue;
    ++totals.refused;
    lanes::Record record;
    (void)record.read(one.record);
    const Fault fault =
        record.unit_fault(static_cast<int>(error & 0xffff), static_cast<int>(error >> 16));
    if (fault.reason != one.fault->reason) {
      say(totals, batch, i,
          fmt::format("'{}' where the CPU says '{}'", fault.reason, one.fault->reason));
    }
  }
}

// Describes how the bytes of one case differ. At least one byte must differ.
std::string describe_difference(const Checked& batch, std::size_t i, std::size_t begin,
                                std::size_t end, Dtype dtype) {
  std::size_t first = begin, count = 0;
  for (std::size_t k = begin; k < end; ++k) {
    if (batch.expected[k] == batch.got[k]) continue;
    if (count++ == 0) first = k;
  }
  const ElementPlace& place = batch.cases[i].place;
  return fmt::format(
      "{} of {} bytes differ, the first in element {} (dx {} dy {} dc {}): {} where {} is right, "
      "type {}",
      count, end - begin, (first - begin) / dtype_bytes(dtype), place.dx, place.dy, place.dc,
      static_cast<int>(batch.got[first]), static_cast<int>(batch.expected[first]),
      static_cast<int>(dtype));
}

void compare_pixels(Totals& totals, Checked& batch, const PixelTable& table) {
  const std::vector<Case>& cases = batch.cases;
  const std::size_t element = dtype_bytes(table.dtype);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const std::size_t begin = at(cases[i].place.first) * element;
    const std::size_t end =
        i + 1 < cases.size() ? at(cases[i + 1].place.first) * element : batch.got.size();
    if (batch.skipped[i]) {
      const auto& fault = cases[i].fault;
      if (fault && fault->code == ErrorCode::none) say(totals, batch, i, fault->reason);
      totals.refused += fault.has_value();
      continue;
    }
    if (batch.refused[i]) std::memset(batch.expected.data() + begin, 0, end - begin);
    if (std::memcmp(batch.expected.data() + begin, batch.got.data() + begin, end - begin) == 0) {
      continue;
    }
    say(totals, batch, i, describe_difference(batch, i, begin, end, table.dtype));
  }
}

// Makes a batch on both paths and compares.
void check_batch(Totals& totals, std::vector<Case>& cases, std::uint64_t elements,
                 const PixelTable& table, const lanes::Tables& tables) {
  const std::size_t bytes = at(elements) * dtype_bytes(table.dtype);
  Checked batch{.cases = cases};
  batch.expected.assign(bytes, std::byte{kPoison});
  batch.got.resize(bytes);
  plan_cases(totals, batch);
  make_on_cpu(batch, table, tables);
  make_on_gpu(batch, table, tables);
  compare_refusals(totals, batch);
  compare_pixels(totals, batch, table);
  totals.cases += cases.size();
  totals.elements += elements;
}

void place_all(std::vector<Case>& cases, std::uint64_t& elements, Random& random) {
  for (Case& one : cases) one.place = next_place(random, one.view.size(), elements);
}

void check_random(Totals& totals, std::uint64_t count, std::uint64_t seed, bool hostile) {
  const lanes::Tables& tables = lanes::builtin_tables();
  constexpr std::uint64_t kBatch = 200;
  for (std::uint64_t from = 0; from < count; from += kBatch) {
    std::vector<Case> cases(at(std::min(kBatch, count - from)));
    in_parallel(cases.size(), [&](std::size_t i, CpuPath&) {
      Random random({.seed = seed, .sample = from + i}, 0);
      Case& one = cases[i];
      const int largest = hostile ? 150 : random.below(20) == 0 ? 1200 : 320;
      one.record = random_record(random, largest, tables);
      if (hostile) {
        const std::uint64_t changes = 1 + random.below(4);
        std::vector<std::byte> changed = one.record;
        for (std::uint64_t k = 0; k < changes; ++k) {
          // Mostly in the units; the head is at the start of the record.
          const std::uint64_t place = random.below(changed.size());
          changed[at(place)] ^= static_cast<std::byte>(
              random.below(4) == 0 ? random.below(256) : std::uint64_t{1} << random.below(8));
        }
        if (seal_again(changed)) one.record = changed;
      }
      one.view = random_view(random, size_of(one.record), random.below(10) == 0 ? 500 : 260);
    });
    Random random({.seed = seed, .sample = from}, 1);
    std::uint64_t elements = 0;
    place_all(cases, elements, random);
    check_batch(totals, cases, elements, random_table(random), tables);
  }
}

void check_flips(Totals& totals, std::uint64_t bytes, std::uint64_t seed) {
  const lanes::Tables& tables = lanes::builtin_tables();
  Random random({.seed = seed}, 0);
  for (std::uint64_t done = 0; done < bytes;) {
    const std::vector<std::byte> record = random_record(random, 32, tables);
    const View whole(size_of(record));
    const std::uint64_t flips = 8 * std::min<std::uint64_t>(record.size(), bytes - done);
    std::vector<Case> cases;
    for (std::uint64_t bit = 0; bit < flips; ++bit) {
      Case one;
      one.record = record;
      one.record[at(bit / 8)] ^= static_cast<std::byte>(1 << bit % 8);
      // Skips a changed size, because the pack's index would still hold the old size.
      if (!seal_again(one.record) || size_of(one.record) != size_of(record)) continue;
      one.view = whole;
      cases.push_back(std::move(one));
    }
    std::uint64_t elements = 0;
    place_all(cases, elements, random);
    check_batch(totals, cases, elements, pixel_table({}), tables);
    done += flips / 8;
  }
}

void check_photos(Totals& totals, const std::string& path, std::uint64_t crops) {
  const auto pack = Pack::open(path);
  const Transforms transforms = {
      RandomResizedCrop{.size = {224, 224}}, RandomHorizontalFlip{},
      ToDtype{.dtype = Dtype::bfloat16, .scale = true},
      Normalize{.mean = {{0.485f, 0.456f, 0.406f}}, .std = {{0.229f, 0.224f, 0.225f}}}};
  const PixelTable table = pixel_table(transforms);
  for (std::uint64_t round = 0; round < crops; ++round) {
    std::vector<Case> cases;
    for (std::uint64_t i = 0; i < pack->count(); ++i) {
      if (pack->info(i).codec != Codec::lanes) continue;
      Sample sample;
      pack->read(sample, i, FieldSet{1});
      Case one;
      one.record.assign(sample.fields[0].begin(), sample.fields[0].end());
      one.view = plan_view(transforms, size_of(one.record), {.epoch = round, .sample = i});
      cases.push_back(std::move(one));
    }
    Random random({.epoch = round}, 0);
    std::uint64_t elements = 0;
    place_all(cases, elements, random);
    check_batch(totals, cases, elements, table, *pack->tables(0));
  }
}

}  // namespace

int main(int count, char** words) {
  const std::string what = count > 1 ? words[1] : "";
  if (count != 4) {
    fmt::print(stderr,
               "usage: check_decode random|hostile CASES SEED, flips BYTES SEED, or photos "
               "FILE.tnd CROPS\n");
    return 2;
  }
  Totals totals;
  try {
    const std::uint64_t last = std::strtoull(words[3], nullptr, 10);
    if (what == "photos") {
      check_photos(totals, words[2], last);
    } else if (what == "flips") {
      check_flips(totals, std::strtoull(words[2], nullptr, 10), last);
    } else {
      check_random(totals, std::strtoull(words[2], nullptr, 10), last, what == "hostile");
    }
  } catch (const std::exception& error) {
    fmt::print("{}: {}\n", what, error.what());
    return 1;
  }
  fmt::print(
      "{}: {} cases, {} elements equal on GPU and CPU, {} refused by both, {} left to the CPU, "
      "{} wrong\n",
      what, totals.cases, totals.elements, totals.refused, totals.on_cpu, totals.wrong);
  return totals.wrong == 0 ? 0 : 1;
}
