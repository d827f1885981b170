#include "optim/run_slowly.h"

#include <cmath>

#include "core/fields.h"

namespace tundish::optim {
namespace {

template <class Number>
using Array = std::valarray<Number>;

template <class Number>
double squares(const Array<Number>& values) {
  double sum = 0;
  for (const Number value : values) sum += static_cast<double>(value) * static_cast<double>(value);
  return sum;
}

// torch.lerp: from the nearer end.
template <class Number>
Array<Number> lerped(const Array<Number>& a, const Array<Number>& b, double share) {
  const Number weight = static_cast<Number>(share);
  if (weight < Number(0.5)) return Array<Number>(a + weight * Array<Number>(b - a));
  return Array<Number>(b - Array<Number>(b - a) * (Number(1) - weight));
}

// https://docs.pytorch.org/docs/stable/generated/torch.optim.SGD.html
template <class Number>
void sgd(SlowTensor<Number>& tensor, Array<Number> g, const Group& group) {
  Array<Number>& w = tensor.weights;
  const auto number = [](double value) { return static_cast<Number>(value); };
  g += number(group.weight_decay) * w;
  if (group.momentum != 0) {
    if (group.step == 1) {
      tensor.first = g;
    } else {
      tensor.first *= number(group.momentum);
      tensor.first += number(1 - group.dampening) * g;
    }
    if (group.nesterov) {
      g += number(group.momentum) * tensor.first;
    } else {
      g = tensor.first;
    }
  }
  w += number(-group.lr) * g;
}

// https://docs.pytorch.org/docs/stable/generated/torch.optim.AdamW.html
template <class Number>
void adam(SlowTensor<Number>& tensor, Array<Number> g, const Group& group, bool decoupled) {
  Array<Number>& w = tensor.weights;
  const auto number = [](double value) { return static_cast<Number>(value); };
  const double correction1 = 1 - std::pow(group.beta1, static_cast<double>(group.step));
  const double correction2 = 1 - std::pow(group.beta2, static_cast<double>(group.step));
  if (decoupled) {
    w *= number(1 - group.lr * group.weight_decay);
  } else {
    g += number(group.weight_decay) * w;
  }
  tensor.first = lerped(tensor.first, g, 1 - group.beta1);
  tensor.second *= number(group.beta2);
  tensor.second += Array<Number>(number(1 - group.beta2) * g) * g;
  Array<Number> denominator = std::sqrt(tensor.second);
  denominator /= number(std::sqrt(correction2));
  denominator += number(group.eps);
  w += Array<Number>(number(-(group.lr / correction1)) * tensor.first) / denominator;
}

template <class Number>
void update(OptimizerKind kind, SlowTensor<Number>& tensor, const Array<Number>& gradients,
            const Group& group) {
  switch (kind) {
    case OptimizerKind::sgd:
      return sgd(tensor, gradients, group);
    case OptimizerKind::adam:
      return adam(tensor, gradients, group, false);
    case OptimizerKind::adamw:
      return adam(tensor, gradients, group, true);
    default:
      refuse_argument("optimizer", "this kind does not exist");
  }
}

}  // namespace

template <class Number>
double run_slowly(OptimizerKind kind, std::span<SlowTensor<Number>> tensors,
                  const StepOptions& options) {
  double factor = options.scale ? 1 / static_cast<double>(*options.scale) : 1;
  double sum = 0;
  for (const auto& tensor : tensors) {
    if (!tensor.left_out) sum += squares(tensor.gradients);
  }
  const double norm = std::sqrt(sum) * factor;
  if (options.max_norm > 0) factor *= std::min(1.0, options.max_norm / (norm + 1e-6));
  for (auto& tensor : tensors) {
    const Group& group = options.groups[tensor.group];
    const Number signed_factor = static_cast<Number>(group.maximize ? -factor : factor);
    if (!tensor.left_out) {
      update(kind, tensor, Array<Number>(tensor.gradients * signed_factor), group);
      if (options.clear_gradients) tensor.gradients = Number(0);
    }
    if (options.ema_decay > 0) {
      tensor.average = lerped(tensor.average, tensor.weights, 1 - options.ema_decay);
    }
  }
  return norm;
}

template double run_slowly(OptimizerKind, std::span<SlowTensor<float>>, const StepOptions&);
template double run_slowly(OptimizerKind, std::span<SlowTensor<double>>, const StepOptions&);

}  // namespace tundish::optim
