// The types behind the opaque handles of include/tundish.h.
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
  std::shared_ptr<const tundish::Source> source;  // shared with the loaders made from it
  std::string about;
};

struct tundish_loader {
  std::unique_ptr<tundish::Engine> engine;
  std::string path;
  std::string about;  // text of tundish_loader_describe()
};

struct tundish_batch {
  std::shared_ptr<tundish::Batch> batch;  // shared with the tensors made from it
  std::vector<tundish::BatchTensor> tensors;
};

// `process` detects forked children, which must not touch the GPU.
struct tundish_resident {
  pid_t process;
  std::shared_ptr<tundish::cuda::ResidentPack> pack;  // shared with the devices that use it
};

struct tundish_device {
  pid_t process;
  std::unique_ptr<tundish::GpuDelivery> delivery;
};

namespace tundish {

tundish_source* new_source(std::shared_ptr<const Source> opened);  // the caller deletes the result

}  // namespace tundish
