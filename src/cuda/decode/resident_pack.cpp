#include "cuda/decode/resident_pack.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/host_memory.h"
#include "codec/lanes/record.h"
#include "cuda/runtime/on_device.h"
#include "cuda/runtime/pinned.h"
#include "cuda/runtime/runtime.h"

namespace tundish::cuda {
namespace {

constexpr std::size_t kPartBytes = std::size_t{16} << 20;  // per copy, except for larger records

std::uint64_t aligned(std::uint64_t bytes) {
  return (bytes + ResidentRecords::kAlign - 1) / ResidentRecords::kAlign * ResidentRecords::kAlign;
}

// Returns the maximum size of a lanes record; 0 for other samples.
std::uint64_t room_of(const Source& source, std::uint64_t i, int image) {
  if (source.info(i).codec != Codec::lanes) return 0;
  Extent extent;
  return aligned(source.extent(i, image, extent) ? extent.bytes : source.bytes(i));
}

}  // namespace

struct ResidentPack::State {
  int device = 0;
  std::shared_ptr<const Source> source;
  int image = 0;
  std::uint64_t next = 0, bytes = 0;
  std::shared_ptr<ResidentRecords> records;
  DeviceMemory memory;
  HostMemory part;  // page-locked staging memory for records
  cudaStream_t stream = nullptr;

  // Copies the gathered records to the GPU.
  void send(std::uint64_t to, std::size_t size) {
    if (size == 0) return;
    check(cudaMemcpyAsync(memory.as<std::byte>() + to, part.data(), size, cudaMemcpyHostToDevice,
                          stream),
          "copy records");
    check(cudaStreamSynchronize(stream), "copy records");
  }
};

ResidentPack::ResidentPack(int device, std::shared_ptr<const Source> source, int image)
    : state_(new State) {
  State& state = *state_;
  state.device = device;
  state.source = std::move(source);
  state.image = image;
  const std::uint64_t count = state.source->count();
  state.records = std::make_shared<ResidentRecords>(count);
  for (std::uint64_t i = 0; i < count; ++i) state.bytes += room_of(*state.source, i, image);
  const OnDevice on(device);
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "ask for free memory");
  if (state.bytes > free) {
    throw Error(ErrorCode::gpu, {.file = state.source->path()},
                fmt::format("its records take {} bytes of the GPU's memory, {} are free",
                            with_commas(state.bytes), with_commas(free)));
  }
  state.memory.take(std::max<std::uint64_t>(state.bytes, 1));
  check(cudaStreamCreateWithFlags(&state.stream, cudaStreamNonBlocking), "make a stream");
}

ResidentPack::~ResidentPack() {
  const OnDevice on(state_->device);
  if (state_->stream) cudaStreamDestroy(state_->stream);
  state_.reset();
}

bool ResidentPack::load(std::uint64_t samples) {
  State& state = *state_;
  const Source& source = *state.source;
  const OnDevice on(state.device);
  Sample sample;
  lanes::Record record;
  std::size_t size = 0;
  std::uint64_t begin = state.records->bytes();
  const std::uint64_t end = std::min(source.count(), state.next + samples);
  for (; state.next < end; ++state.next) {
    const std::uint64_t i = state.next;
    if (room_of(source, i, state.image) == 0) continue;
    try {
      source.read(sample, i, FieldSet{1} << state.image);
    } catch (const SampleError&) {
      continue;
    }
    const Bytes bytes = sample.fields[static_cast<std::size_t>(state.image)];
    if (record.read(bytes) || record.check_rows(0, record.geometry().units_y)) continue;
    // Plans are built from the index, so the record must agree with it.
    const SampleInfo info = source.info(i);
    const lanes::Geometry& geometry = record.geometry();
    if (info.width != static_cast<unsigned>(geometry.width) ||
        info.height != static_cast<unsigned>(geometry.height)) {
      continue;
    }
    const std::uint64_t room = aligned(bytes.size());
    if (state.records->bytes() + room > state.bytes) continue;  // the file has changed
    if (size + room > state.part.bytes()) {
      state.send(begin, size);
      begin += size;
      size = 0;
      state.part.reserve(std::max<std::uint64_t>(kPartBytes, room), kPinnedMemory);
    }
    state.records->add(i, bytes, record.head_bytes());
    std::memcpy(state.part.data() + size, bytes.data(), bytes.size());
    size += room;
  }
  state.send(begin, size);
  if (state.next < source.count()) return true;
  state.part.release();
  return false;
}

std::uint64_t ResidentPack::bytes() const { return state_->bytes; }
std::uint64_t ResidentPack::loaded() const { return state_->next; }
const std::byte* ResidentPack::data() const { return state_->memory.as<std::byte>(); }
std::shared_ptr<const ResidentRecords> ResidentPack::records() const { return state_->records; }

}  // namespace tundish::cuda
