#include "tools/environment/environment.h"

#include <unistd.h>

#include "tools/environment/check_cpus.h"
#include "tools/environment/check_gpu.h"
#include "tools/environment/check_memory.h"

namespace tundish {
namespace {

void add(Findings& out, Findings more) {
  out.insert(out.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

}  // namespace

Findings check_environment(const EnvironmentQuestion& question) {
  const SystemRoots& roots = question.roots;
  const Nvml nvml(question.nvml);
  const std::vector<Gpu> gpus = nvml.gpus();
  const HostCpus cpus = read_host_cpus(roots);
  const DriverState driver{.has_library = nvml.has_library(),
                           .fault = nvml.fault(),
                           .version = nvml.driver(),
                           .cuda = nvml.cuda(),
                           .gpus = gpus.size(),
                           .has_device = exists(roots.dev + "/nvidia0") ||
                                         exists(roots.proc + "/driver/nvidia/version")};
  Findings out = check_software(driver, question.torch);
  for (const Gpu& gpu : gpus) add(out, check_gpu(gpu, read_gpu_place(gpu.bus, roots), cpus));
  add(out, check_cpus(cpus, question.omp_threads));
  add(out, check_memory(read_host_memory(roots)));
  return out;
}

}  // namespace tundish
