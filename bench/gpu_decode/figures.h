// Measurements of bench_gpu_decode, one function per group of figures.
#pragma once

#include <string>
#include <vector>

#include "batches.h"

namespace tundish::cuda::bench {

// Returns seconds of a monotonic clock.
double now();

// Prints one JSON object to stdout: {"metric": ..., "unit": ..., "values": [...]}.
void print_figure(const std::string& metric, const std::string& unit,
                  const std::vector<double>& values);

// Times the kernels of a batch one by one, and the copy to the GPU.
void time_stages(const std::vector<Prepared>& batches, const Set& set, const Options& options);

// Times prepared batches on one to three streams, with and without the copy.
void time_prepared(const std::vector<Prepared>& batches, const Set& set, const Options& options);

// Times the CPU's part: random choices, plan, gather.
void time_host(const Set& set, const Options& options);

// Times everything by number of threads: random choices, plan, gather, copy, kernels.
void time_end_to_end(const Set& set, const Options& options);

}  // namespace tundish::cuda::bench
