// Replacements for the CUDA part in a build without CUDA.
#include "cuda/array_uploader.h"
#include "cuda/decode/resident_pack.h"
#include "cuda/gpu_uploader.h"
#include "cuda/optim/gpu_optimizer.h"
#include "cuda/runtime/pinned.h"
#include "cuda/runtime/stream_clock.h"

namespace tundish::cuda {
namespace {

constexpr const char* kWhy = "this build of tundish has no CUDA part";

[[noreturn]] void refuse() { throw Error(ErrorCode::gpu, {}, kWhy); }

}  // namespace

const HostAllocator* pinned_memory(std::string& why) {
  why = kWhy;
  return nullptr;
}

struct GpuUploader::State {};
GpuUploader::GpuUploader(int, void*, const PixelTable&, const PixelTable*, int, bool,
                         const lanes::Tables*, std::shared_ptr<const ResidentPack>) {
  refuse();
}
GpuUploader::~GpuUploader() = default;
void GpuUploader::enqueue(const UploadBatch&, const Out&) { refuse(); }
std::optional<GpuUploader::Refused> GpuUploader::poll_completed() { return std::nullopt; }
void GpuUploader::abandon_iteration() {}

struct ArrayUploader::State {};
ArrayUploader::ArrayUploader(int, void*) { refuse(); }
ArrayUploader::~ArrayUploader() = default;
void ArrayUploader::enqueue(const std::shared_ptr<const void>&, std::span<const ArrayCopy>,
                            std::span<const ArrayCopy>) {
  refuse();
}
void ArrayUploader::poll_completed() {}

std::unique_ptr<StreamClock> new_stream_clock(int) { refuse(); }

struct GpuOptimizer::State {};
GpuOptimizer::GpuOptimizer(optim::OptimizerKind, int) { refuse(); }
GpuOptimizer::~GpuOptimizer() = default;
void GpuOptimizer::bind(std::span<const optim::TensorEntry>) { refuse(); }
void GpuOptimizer::set_gradients(std::span<void* const>) { refuse(); }
void GpuOptimizer::step(const optim::StepOptions&, void*) { refuse(); }

struct ResidentPack::State {};
ResidentPack::ResidentPack(int, std::shared_ptr<const Source>, int) { refuse(); }
ResidentPack::~ResidentPack() = default;
bool ResidentPack::load(std::uint64_t) { refuse(); }
std::uint64_t ResidentPack::bytes() const { return 0; }
std::uint64_t ResidentPack::loaded() const { return 0; }
const std::byte* ResidentPack::data() const { return nullptr; }
std::shared_ptr<const ResidentRecords> ResidentPack::records() const { return nullptr; }

}  // namespace tundish::cuda
