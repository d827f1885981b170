// What bench_gpu_decode measures, one function per group of figures.
#pragma once

#include <string>
#include <vector>

#include "batches.h"

namespace tundish::cuda::bench {

// Seconds of a clock that never goes back.
double now();

// One JSON object on stdout: {"metric": ..., "unit": ..., "values": [...]}.
void print_figure(const std::string& metric, const std::string& unit,
                  const std::vector<double>& values);

// The kernels of a batch, one by one, and the copy to the GPU.
void time_stages(const std::vector<Prepared>& batches, const Set& set, const Options& options);

// Prepared batches on one to three streams, with and without the copy.
void time_prepared(const std::vector<Prepared>& batches, const Set& set, const Options& options);

// The part of the CPU: random choices, plan, gather.
void time_host(const Set& set, const Options& options);

// Everything: random choices, plan, gather, copy, kernels; by number of threads.
void time_end_to_end(const Set& set, const Options& options);

}  // namespace tundish::cuda::bench
