// What the opaque pointers of include/tundish.h point to.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "capi/batch_tensors.h"
#include "cuda/decode/resident_pack.h"
#include "data/source/source.h"
#include "loader/engine/engine.h"
#include "loader/engine/gpu/gpu_delivery.h"
#include "tundish.h"

struct tundish_source {
  std::shared_ptr<const tundish::Source> source;  // second owner: loaders made from it
  std::string about;
};

struct tundish_loader {
  std::unique_ptr<tundish::Engine> engine;
  std::string path;
  std::string about;  // tundish_loader_describe()
};

struct tundish_batch {
  std::shared_ptr<tundish::Batch> batch;  // second owner: each tensor made from it
  std::vector<tundish::BatchTensor> tensors;
};

// In a forked child nothing of the GPU may be touched.
struct tundish_resident {
  pid_t process;
  std::shared_ptr<tundish::cuda::ResidentPack> pack;  // second owner: each device that uses it
};

struct tundish_device {
  pid_t process;
  std::unique_ptr<tundish::GpuDelivery> delivery;
};

namespace tundish {

tundish_source* new_source(std::shared_ptr<const Source> opened);  // the caller deletes it

}  // namespace tundish
