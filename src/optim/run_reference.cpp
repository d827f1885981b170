#include "optim/run_reference.h"

#include <algorithm>
#include <cmath>

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

// torch.lerp, computed from the nearer end.
template <class Number>
Array<Number> lerped(const Array<Number>& a, const Array<Number>& b, double share) {
  const Number weight = static_cast<Number>(share);
  if (weight < Number(0.5)) return Array<Number>(a + weight * Array<Number>(b - a));
  return Array<Number>(b - Array<Number>(b - a) * (Number(1) - weight));
}

// Adds decay * weights. Without decay, leaves the values alone: 0 times infinity would be NaN.
template <class Number>
void add_decay(Array<Number>& values, const Array<Number>& weights, double decay) {
  if (decay != 0) values += static_cast<Number>(decay) * weights;
}

// https://docs.pytorch.org/docs/stable/generated/torch.optim.SGD.html
template <class Number>
void sgd(SlowTensor<Number>& tensor, Array<Number> g, const Group& group) {
  Array<Number>& w = tensor.weights;
  const auto number = [](double value) { return static_cast<Number>(value); };
  add_decay(g, w, group.weight_decay);
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
    add_decay(g, w, group.weight_decay);
  }
  tensor.first = lerped(tensor.first, g, 1 - group.beta1);
  tensor.second *= number(group.beta2);
  tensor.second += Array<Number>(number(1 - group.beta2) * g) * g;
  Array<Number> denominator = std::sqrt(tensor.second);
  denominator /= number(std::sqrt(correction2));
  denominator += number(group.eps);
  w += Array<Number>(number(-(group.lr / correction1)) * tensor.first) / denominator;
}

// https://github.com/huggingface/pytorch-image-models: timm/optim/lion.py
template <class Number>
void lion(SlowTensor<Number>& tensor, const Array<Number>& g, const Group& group) {
  const auto number = [](double value) { return static_cast<Number>(value); };
  Array<Number> update = tensor.first * number(group.beta1);
  update += number(1 - group.beta1) * g;
  for (Number& value : update) value = static_cast<Number>((value > 0) - (value < 0));
  tensor.weights *= number(1 - group.lr * group.weight_decay);
  tensor.weights += number(-group.lr) * update;
  tensor.first = lerped(tensor.first, g, 1 - group.beta2);
}

// timm/optim/lars.py
template <class Number>
void lars(SlowTensor<Number>& tensor, Array<Number> g, const Group& group) {
  const auto number = [](double value) { return static_cast<Number>(value); };
  const double weights = std::sqrt(squares(tensor.weights)), gradients = std::sqrt(squares(g));
  if (group.weight_decay != 0 || group.always_adapt) {
    double ratio =
        group.trust_coefficient * weights / (gradients + weights * group.weight_decay + group.eps);
    if (weights == 0 || gradients == 0) ratio = 1;
    if (group.trust_clip) ratio = std::min(ratio / group.lr, 1.0);
    add_decay(g, tensor.weights, group.weight_decay);
    g *= number(ratio);
  }
  Group rest = group;
  rest.weight_decay = 0;
  sgd(tensor, g, rest);
}

// timm/optim/lamb.py
template <class Number>
void lamb(SlowTensor<Number>& tensor, const Array<Number>& g, const Group& group) {
  const auto number = [](double value) { return static_cast<Number>(value); };
  Array<Number>& w = tensor.weights;
  const double steps = static_cast<double>(group.step);
  const double correction1 = group.bias_correction ? 1 - std::pow(group.beta1, steps) : 1;
  const double correction2 = group.bias_correction ? 1 - std::pow(group.beta2, steps) : 1;
  tensor.first *= number(group.beta1);
  tensor.first += number(group.grad_averaging ? 1 - group.beta1 : 1) * g;
  tensor.second *= number(group.beta2);
  tensor.second += Array<Number>(number(1 - group.beta2) * g) * g;
  Array<Number> denominator = std::sqrt(tensor.second);
  denominator /= number(std::sqrt(correction2));
  denominator += number(group.eps);
  Array<Number> update = tensor.first / number(correction1);
  update /= denominator;
  if (group.decoupled) {
    add_decay(w, Array<Number>(w), -group.lr * group.weight_decay);
  } else {
    add_decay(update, w, group.weight_decay);
  }
  if (group.weight_decay != 0 || group.always_adapt) {
    const double weights = std::sqrt(squares(w)), updates = std::sqrt(squares(update));
    double ratio = weights > 0 && updates > 0 ? weights / updates : 1;
    if (group.trust_clip) ratio = std::min(ratio, 1.0);
    update *= number(ratio);
  }
  w += number(-group.lr) * update;
}

// https://github.com/NVIDIA/apex: csrc/multi_tensor_novograd.cu
template <class Number>
void novograd(SlowTensor<Number>& tensor, Array<Number> g, const Group& group) {
  const auto number = [](double value) { return static_cast<Number>(value); };
  Array<Number>& w = tensor.weights;
  const double steps = static_cast<double>(group.step);
  const double correction1 = group.bias_correction ? 1 - std::pow(group.beta1, steps) : 1;
  const double correction2 = group.bias_correction ? 1 - std::pow(group.beta2, steps) : 1;
  const double old = static_cast<double>(tensor.norm), norm = std::sqrt(squares(g));
  const bool first = group.step == 1 && !group.init_zero;
  const double blended = std::sqrt(group.beta2 * (old * old) + (1 - group.beta2) * (norm * norm));
  tensor.norm = number(first ? norm : blended);
  const Number denominator = tensor.norm / number(std::sqrt(correction2)) + number(group.eps);
  if (group.reg_inside_moment) {
    g /= denominator;
    add_decay(g, w, group.weight_decay);
  }
  tensor.first *= number(group.beta1);
  tensor.first += number(group.grad_averaging ? 1 - group.beta1 : 1) * g;
  Array<Number> update = tensor.first / number(correction1);
  if (!group.reg_inside_moment) {
    update /= denominator;
    add_decay(update, w, group.weight_decay);
  }
  w -= number(group.lr) * update;
}

template <class Number>
void update(OptimizerKind kind, SlowTensor<Number>& tensor, const Array<Number>& gradients,
            const Group& group) {
  switch (kind) {
    case OptimizerKind::sgd:
      return sgd(tensor, gradients, group);
    case OptimizerKind::adam:
      return adam(tensor, gradients, group, group.decoupled);
    case OptimizerKind::adamw:
      return adam(tensor, gradients, group, true);
    case OptimizerKind::lion:
      return lion(tensor, gradients, group);
    case OptimizerKind::lars:
      return lars(tensor, gradients, group);
    case OptimizerKind::lamb:
      return lamb(tensor, gradients, group);
    case OptimizerKind::novograd:
      return novograd(tensor, gradients, group);
  }
}

}  // namespace

template <class Number>
double run_reference(OptimizerKind kind, std::span<SlowTensor<Number>> tensors,
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

template double run_reference(OptimizerKind, std::span<SlowTensor<float>>, const StepOptions&);
template double run_reference(OptimizerKind, std::span<SlowTensor<double>>, const StepOptions&);

}  // namespace tundish::optim
