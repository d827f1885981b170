// Compares the optimizers on a GPU (cuda/optim/gpu_optimizer.h) with the CPU optimizers:
//
//   check_optim CASES SEED
//
// Tensors of any size, type and alignment, several groups, with and without master weights,
// averages, copies, clipping, a scale, stochastic rounding, and gradients that move or are not
// finite; several steps each. Without sums, results must be bitwise equal. Prints one line. Exits
// with 1 if anything differed.
#include <cuda_runtime.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "cuda/optim/gpu_optimizer.h"
#include "cuda/runtime/runtime.h"
#include "optim/optimizer.h"
#include "optim/testing.h"

namespace {

using namespace tundish;
using namespace tundish::optim;
using cuda::check;

struct Totals {
  int steps = 0, tensors = 0, skipped = 0, wrong = 0;
};

bool one_in(Random& random, int n) { return random.below(static_cast<std::uint64_t>(n)) == 0; }

// GPU memory that starts `offset` bytes after an aligned address.
class OnGpu {
 public:
  OnGpu(const void* from, std::size_t bytes, std::size_t offset) : bytes_(bytes), offset_(offset) {
    memory_.take(bytes + offset + 16);
    put(from);
  }
  void* data() const { return memory_.as<char>() + offset_; }
  void put(const void* from) {
    if (bytes_ == 0) return;
    check(cudaMemcpy(data(), from, bytes_, cudaMemcpyHostToDevice), "copy to the GPU");
  }
  template <class T>
  std::vector<T> get() const {
    std::vector<T> out(bytes_ / sizeof(T));
    if (out.empty()) return out;
    check(cudaMemcpy(out.data(), data(), bytes_, cudaMemcpyDeviceToHost), "copy from the GPU");
    return out;
  }

 private:
  std::size_t bytes_, offset_;
  cuda::DeviceMemory memory_;
};

// A tensor on the CPU and its copy on the GPU.
struct Pair {
  Pair(const OwnedTensor::Kind& kind, Random& random, std::size_t offset)
      : cpu(kind, random),
        parameter(cpu.parameter.data(), cpu.parameter.size(), offset),
        gradient(cpu.gradient.data(), cpu.gradient.size(), offset),
        first(cpu.first.data(), 4 * cpu.first.size(), offset),
        second(cpu.second.data(), 4 * cpu.second.size(), offset),
        master(cpu.master.data(), 4 * cpu.master.size(), offset),
        average(cpu.average.data(), 4 * cpu.average.size(), offset),
        copy(cpu.copy.data(), cpu.copy.size(), offset),
        norm(&cpu.norm, 4, 0) {}

  TensorEntry entry() {
    TensorEntry out = cpu.entry();
    out.parameter = parameter.data();
    out.gradient = out.gradient ? gradient.data() : nullptr;
    const auto floats = [](const OnGpu& memory) { return static_cast<float*>(memory.data()); };
    out.state[0] = floats(first);
    out.state[1] = floats(second);
    out.master = out.master ? floats(master) : nullptr;
    out.average = out.average ? floats(average) : nullptr;
    out.copy = out.copy ? copy.data() : nullptr;
    out.tensor_state = floats(norm);
    return out;
  }

  OwnedTensor cpu;
  OnGpu parameter, gradient, first, second, master, average, copy, norm;
};

struct Case {
  OptimizerKind kind;
  StepOptions options;
  std::vector<Group> groups;
  bool exact = true;  // no sums, so bits must be equal
};

Group random_group(Random& random, OptimizerKind kind) {
  Group out;
  out.lr = random.uniform(1e-4, 0.1);
  out.weight_decay = one_in(random, 2) ? 0 : random.uniform(0, 0.1);
  out.momentum = one_in(random, 3) ? 0 : random.uniform(0.1, 0.99);
  out.dampening = one_in(random, 3) ? random.uniform(0, 0.5) : 0;
  out.nesterov = out.momentum > 0 && out.dampening == 0 && one_in(random, 2);
  out.maximize = one_in(random, 4);
  out.decoupled = one_in(random, 3);
  out.always_adapt = one_in(random, 2);
  out.trust_clip = one_in(random, 3);
  out.grad_averaging = one_in(random, 2);
  out.bias_correction = !one_in(random, 3);
  out.reg_inside_moment = one_in(random, 2);
  out.init_zero = one_in(random, 3);
  if (kind == OptimizerKind::novograd) out.eps = 1e-3;
  return out;
}

Case random_case(Random& random) {
  Case out;
  out.kind = static_cast<OptimizerKind>(random.below(kOptimizerKinds));
  for (int n = between(random, 1, 20); n > 0; --n) {
    out.groups.push_back(random_group(random, out.kind));
  }
  StepOptions& options = out.options;
  options.max_norm = one_in(random, 3) ? random.uniform(0.01, 10) : 0;
  options.ema_decay = one_in(random, 2) ? random.uniform(0.5, 0.999) : 0;
  options.clear_gradients = one_in(random, 2);
  options.stochastic_rounding = one_in(random, 2);
  options.seed = random.next();
  const bool sums = out.kind == OptimizerKind::lars || out.kind == OptimizerKind::lamb ||
                    out.kind == OptimizerKind::novograd;
  out.exact = !sums && options.max_norm == 0;
  return out;
}

OwnedTensor::Kind random_kind(Random& random, std::size_t groups) {
  OwnedTensor::Kind out;
  const int size = between(random, 0, 9);
  out.count = static_cast<std::size_t>(size == 0   ? between(random, 0, 5)
                                       : size == 1 ? between(random, 8190, 8194)
                                       : size == 2 ? between(random, 16000, 40000)
                                                   : between(random, 1, 3000));
  const auto type = [&] { return static_cast<ElementType>(random.below(3)); };
  out.parameter = type();
  out.gradient = type();
  out.copy_type = type() == ElementType::float16 ? ElementType::float16 : ElementType::bfloat16;
  out.master = one_in(random, 2);
  out.average = one_in(random, 2);
  out.copy = one_in(random, 3);
  out.left_out = one_in(random, 8);
  out.group = static_cast<std::uint32_t>(random.below(groups));
  return out;
}

// Whether the bits are equal or, if the order of sums differs, the values are close. Rounding to
// 16 bits may then yield the adjacent number.
bool agree(const std::vector<float>& a, const std::vector<float>& b, bool exact, double relative) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::memcmp(&a[i], &b[i], 4) == 0 || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    const double x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
    if (exact || !(std::abs(x - y) <= relative * (std::abs(x) + std::abs(y)) + 1e-6)) return false;
  }
  return true;
}

bool same(Pair& pair, bool exact) {
  const auto& kind = pair.cpu.kind;
  const auto words = [](ElementType type) { return type == ElementType::float32 ? 1e-5 : 1e-2; };
  const auto bytes = [&](const OnGpu& memory) { return memory.get<std::byte>(); };
  bool good = agree(decoded(pair.cpu.parameter, kind.parameter),
                    decoded(bytes(pair.parameter), kind.parameter), exact, words(kind.parameter));
  good &= agree(decoded(pair.cpu.gradient, kind.gradient),
                decoded(bytes(pair.gradient), kind.gradient), true, 0);
  good &= agree(pair.cpu.first, pair.first.get<float>(), exact, 1e-4);
  good &= agree(pair.cpu.second, pair.second.get<float>(), exact, 1e-4);
  if (kind.master) good &= agree(pair.cpu.master, pair.master.get<float>(), exact, 1e-4);
  const double loose = kind.master ? 1e-4 : words(kind.parameter);
  if (kind.average) good &= agree(pair.cpu.average, pair.average.get<float>(), exact, loose);
  if (kind.copy) {
    good &= agree(decoded(pair.cpu.copy, kind.copy_type), decoded(bytes(pair.copy), kind.copy_type),
                  exact, 1e-2);
  }
  return good;
}

std::vector<Pair> random_pairs(Random& random, std::size_t groups) {
  std::vector<Pair> out;
  for (int n = between(random, 1, 12); n > 0; --n) {
    const std::size_t offset = one_in(random, 4) ? 4 : 0;
    out.emplace_back(random_kind(random, groups), random, offset);
  }
  if (one_in(random, 20)) {  // more gradients than fit one launch
    while (out.size() < 500) out.emplace_back(OwnedTensor::Kind{.count = 3}, random, 0);
  }
  return out;
}

// Runs the steps of one case on both devices.
class Run {
 public:
  Run(Random& random, Totals& totals)
      : random_(random),
        totals_(totals),
        case_(random_case(random)),
        pairs_(random_pairs(random, case_.groups.size())),
        scaled_(one_in(random, 2)),
        on_cpu_(case_.kind),
        on_gpu_(case_.kind, 0),
        counts_(std::vector<float>(case_.groups.size()).data(), 4 * case_.groups.size(), 0) {
    std::vector<TensorEntry> ours, theirs;
    for (Pair& pair : pairs_) {
      ours.push_back(pair.cpu.entry());
      theirs.push_back(pair.entry());
    }
    on_cpu_.bind(ours);
    on_gpu_.bind(theirs);
  }

  void step() {
    draw_gradients(scaled_ && one_in(random_, 4));
    found_inf_ = 0;
    gpu_found_.put(&found_inf_);
    StepOptions options = case_.options;
    options.check_finite = scaled_;
    for (Group& group : case_.groups) group.step = made_ + 1;
    step_on_cpu(options);
    step_on_gpu(options);
    compare();
  }

 private:
  void draw_gradients(bool bad) {
    std::vector<void*> ours, theirs;
    for (Pair& pair : pairs_) {
      OwnedTensor& tensor = pair.cpu;
      tensor.draw_gradient(random_);
      if (bad && !tensor.gradient.empty()) {  // NaN in every type
        std::fill_n(tensor.gradient.begin(), tensor.gradient.size() >= 4 ? 4 : 2, std::byte{0xff});
      }
      pair.gradient.put(tensor.gradient.data());
      if (one_in(random_, 10)) tensor.kind.left_out = !tensor.kind.left_out;
      ours.push_back(tensor.kind.left_out ? nullptr : tensor.gradient.data());
      theirs.push_back(tensor.kind.left_out ? nullptr : pair.gradient.data());
    }
    on_cpu_.set_gradients(ours);
    on_gpu_.set_gradients(theirs);
  }

  void step_on_cpu(StepOptions options) {
    options.groups = case_.groups;
    options.scale = scaled_ ? &scale_ : nullptr;
    options.found_inf = scaled_ ? &found_inf_ : nullptr;
    options.norm_out = &norm_;
    made_ += on_cpu_.step(options) ? 1 : 0;
  }

  void step_on_gpu(StepOptions options) {
    const auto floats = [](const OnGpu& memory) { return static_cast<float*>(memory.data()); };
    std::vector<Group> groups = case_.groups;
    for (std::size_t i = 0; i < groups.size(); ++i) groups[i].step_at = floats(counts_) + i;
    options.groups = groups;
    options.scale = scaled_ ? floats(gpu_scale_) : nullptr;
    options.found_inf = scaled_ ? floats(gpu_found_) : nullptr;
    options.norm_out = floats(gpu_norm_);
    on_gpu_.step(options, nullptr);
    check(cudaDeviceSynchronize(), "run a step");
  }

  void compare() {
    ++totals_.steps;
    totals_.skipped += found_inf_ != 0;
    if (scaled_ && gpu_found_.get<float>()[0] != found_inf_) ++totals_.wrong;
    if (!agree({norm_}, gpu_norm_.get<float>(), false, 1e-6)) ++totals_.wrong;
    if (counts_.get<float>()[0] != static_cast<float>(made_)) ++totals_.wrong;
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      ++totals_.tensors;
      if (same(pairs_[i], case_.exact)) continue;
      if (totals_.wrong++ < 5) {
        fmt::print("differs: optimizer {}, tensor {} of {} elements, step {}\n",
                   static_cast<int>(case_.kind), i, pairs_[i].cpu.kind.count, made_);
      }
    }
  }

  Random& random_;
  Totals& totals_;
  Case case_;
  std::vector<Pair> pairs_;
  bool scaled_;
  Optimizer on_cpu_;
  cuda::GpuOptimizer on_gpu_;
  OnGpu counts_;
  float scale_ = 8, found_inf_ = 0, norm_ = 0;
  OnGpu gpu_scale_{&scale_, 4, 0}, gpu_found_{&found_inf_, 4, 0}, gpu_norm_{&norm_, 4, 0};
  int made_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print("usage: check_optim CASES SEED\n");
    return 2;
  }
  Totals totals;
  try {
    for (int i = 0; i < std::atoi(argv[1]); ++i) {
      Random random({.seed = std::strtoull(argv[2], nullptr, 10)}, static_cast<std::uint64_t>(i));
      Run run(random, totals);
      for (int step = between(random, 1, 4); step > 0; --step) run.step();
    }
  } catch (const std::exception& error) {
    fmt::print("check_optim: {}\n", error.what());
    return 1;
  }
  fmt::print("optim: {} steps, {} tensors equal to the CPU's, {} steps skipped, {} wrong\n",
             totals.steps, totals.tensors - totals.wrong, totals.skipped, totals.wrong);
  return totals.wrong == 0 ? 0 : 1;
}
