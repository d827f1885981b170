// Implements the optimizer part of include/tundish.h.
#include <bit>
#include <memory>

#include "capi/call.h"
#include "capi/optim_handle.h"
#include "tundish.h"

using namespace tundish;
using namespace tundish::optim;

namespace {

TensorEntry entry_of(const tundish_optimizer_tensor& tensor) {
  const auto floats = [](void* address) { return static_cast<float*>(address); };
  return {.parameter = tensor.parameter,
          .gradient = tensor.gradient,
          .state = {floats(tensor.state[0]), floats(tensor.state[1])},
          .master = floats(tensor.master),
          .average = floats(tensor.average),
          .copy = tensor.copy,
          .tensor_state = floats(tensor.tensor_state),
          .count = tensor.count,
          .parameter_type = static_cast<ElementType>(tensor.parameter_type),
          .gradient_type = static_cast<ElementType>(tensor.gradient_type),
          .copy_type = static_cast<ElementType>(tensor.copy_type),
          .group = tensor.group};
}

Group group_of(const tundish_optimizer_group& group) {
  return {.lr = group.lr,
          .beta1 = group.beta1,
          .beta2 = group.beta2,
          .eps = group.eps,
          .weight_decay = group.weight_decay,
          .momentum = group.momentum,
          .dampening = group.dampening,
          .trust_coefficient = group.trust_coefficient,
          .step = group.step,
          .nesterov = group.nesterov,
          .maximize = group.maximize,
          .decoupled = group.decoupled,
          .always_adapt = group.always_adapt,
          .trust_clip = group.trust_clip,
          .grad_averaging = group.grad_averaging,
          .bias_correction = group.bias_correction,
          .reg_inside_moment = group.reg_inside_moment,
          .init_zero = group.init_zero,
          .lr_at = static_cast<const float*>(group.lr_at),
          .step_at = static_cast<float*>(group.step_at)};
}

}  // namespace

tundish_optimizer* tundish_optimizer_new(int32_t kind, int32_t device, uint32_t threads) try {
  const auto which = static_cast<OptimizerKind>(kind);
  if (device < 0) return new tundish_optimizer{std::make_unique<Optimizer>(which, threads)};
  return new tundish_optimizer{nullptr, std::make_unique<cuda::GpuOptimizer>(which, device)};
} catch (...) {
  return failed(nullptr);
}

void tundish_optimizer_free(tundish_optimizer* optimizer) { delete optimizer; }

int32_t tundish_optimizer_bind(tundish_optimizer* optimizer,
                               const tundish_optimizer_tensor* tensors, uint64_t count) try {
  std::vector<TensorEntry> entries;
  for (const auto& tensor : std::span(tensors, count)) entries.push_back(entry_of(tensor));
  optimizer->parameters.clear();
  optimizer->cpu ? optimizer->cpu->bind(entries) : optimizer->gpu->bind(entries);
  optimizer->bound = std::move(entries);
  return TUNDISH_OK;
} catch (...) {
  return failed(TUNDISH_ERROR);
}

int32_t tundish_optimizer_gradients(tundish_optimizer* optimizer, const uint64_t* addresses,
                                    uint64_t count) try {
  optimizer->gradients.clear();
  for (const uint64_t address : std::span(addresses, count)) {
    optimizer->gradients.push_back(std::bit_cast<void*>(address));
  }
  optimizer->use_gradients();
  return TUNDISH_OK;
} catch (...) {
  return failed(TUNDISH_ERROR);
}

int32_t tundish_optimizer_step(tundish_optimizer* optimizer,
                               tundish_optimizer_step_options* options) try {
  std::vector<Group> groups;
  for (const auto& group : std::span(options->groups, options->group_count)) {
    groups.push_back(group_of(group));
  }
  const StepOptions step = {.groups = groups,
                            .scale = options->scale,
                            .max_norm = options->max_norm,
                            .norm_out = options->norm_out,
                            .found_inf = options->found_inf,
                            .check_finite = options->check_finite != 0,
                            .ema_decay = options->ema_decay,
                            .clear_gradients = options->clear_gradients != 0,
                            .stochastic_rounding = options->stochastic_rounding != 0,
                            .seed = options->seed};
  options->skipped = 0;
  if (optimizer->gpu) {
    optimizer->gpu->step(step, options->stream);
  } else {
    options->skipped = optimizer->cpu->step(step) ? 0 : 1;
  }
  return TUNDISH_OK;
} catch (...) {
  return failed(TUNDISH_ERROR);
}
