// Reference implementation of the GPU's work on a batch, for tests.
#pragma once

#include <doctest/doctest.h>

#include <cstring>
#include <span>
#include <vector>

#include "augment/cpu/layout.h"
#include "augment/erase_row.h"
#include "augment/mix_reference.h"
#include "augment/pixels/pixel_runner.h"
#include "cuda/augment/finish_reference.h"
#include "cuda/decode/batch_reference.h"
#include "loader/engine/engine.h"
#include "loader/engine/gpu/gpu_maker.h"
#include "loader/engine/gpu/gpu_mixes.h"
#include "loader/engine/gpu/remaining_steps.h"

namespace tundish {

// Computes one view of a batch like cuda/gpu_uploader.cpp, on the CPU and without optimization.
class SlowGpu {
 public:
  SlowGpu(const Batch& batch, const Engine& engine, std::size_t view, const std::byte* records)
      : batch_(batch),
        view_(batch.views[view]),
        recipe_(engine.recipe().views[view]),
        data_(gpu_data(*batch.slot) ? &gpu_data(*batch.slot)->views[view] : nullptr),
        mixes_(gpu_mixes(batch)),
        table_(pixel_table(recipe_.transforms)),
        float_table_(float_table(recipe_.transforms)),
        remaining_(remaining_steps(batch, images_of_view(engine.recipe(), view), table_.dtype)),
        images_(images_of_view(engine.recipe(), view)),
        channels_first_(engine.options().channels_first()),
        pixels_(3 * static_cast<std::size_t>(view_.size.width) *
                static_cast<std::size_t>(view_.size.height)),
        out_(batch.count * view_.crops * pixels_ * dtype_bytes(table_.dtype)) {
    if (batch.count == 0) return;  // nothing is uploaded, even with foreign partners
    const auto* from = reinterpret_cast<const std::uint8_t*>(view_.pixels);
    if (from) levels_ = {from, from + view_.targets.size() * pixels_};
    if (data_) decode(records);
    run_steps(levels_, 0);
    run_steps(decoded_, view_.targets.size());
    mixes_.empty() ? finish() : mix();
  }

  const std::vector<std::byte>& elements() const { return out_; }

 private:
  void decode(const std::byte* records) {
    const cuda::BatchLayout& layout = data_->layout;
    std::vector<std::byte> flat(layout.bytes);
    std::memcpy(flat.data() + layout.host_at, data_->coded.data(), layout.host_bytes());
    if (layout.pieces > 0) cuda::gather_reference(flat.data(), layout, records);
    const bool whole = remaining_.ranges.empty();
    if (!whole) decoded_.resize(layout.images * pixels_);
    const auto errors = cuda::run_batch_reference(
        whole ? out_.data() : reinterpret_cast<std::byte*>(decoded_.data()), flat.data(), layout,
        lanes::builtin_tables(), whole ? table_ : pixel_table({}));
    for (const std::uint32_t error : errors) CHECK(error == cuda::kNoError);
  }

  void run_steps(std::vector<std::uint8_t>& levels, std::size_t next) const {
    for (std::size_t i = 0; !remaining_.ranges.empty() && i < levels.size() / pixels_; ++i) {
      const auto at = levels.begin() + static_cast<std::ptrdiff_t>(i * pixels_);
      std::vector<std::uint8_t> image(at, at + static_cast<std::ptrdiff_t>(pixels_));
      Size size = view_.size;
      const auto [first, count] = remaining_.ranges[next++];
      run_reference(std::span(remaining_.steps).subspan(first, count), image, size);
      std::copy(image.begin(), image.end(), at);
    }
  }

  std::span<const Erasure> erasures_of(std::size_t place, std::size_t crop) const {
    return batch_.slot->places[place].gpu_work[images_.first + crop].erasures;
  }
  Placement place_of(std::size_t image) {
    return placement(out_.data() + image * pixels_ * dtype_bytes(table_.dtype), view_.size,
                     table_.dtype, channels_first_);
  }

  void finish() {
    std::vector<cuda::Target> numbers;
    for (std::uint32_t i = 0; i < batch_.count * view_.crops; ++i) {
      if (batch_.slot->places[batch_.places[i / view_.crops]].coded) numbers.push_back(i);
    }
    cuda::finish_reference(out_.data(), levels_.data(), view_.targets, view_.size, table_,
                           channels_first_);
    if (!decoded_.empty()) {
      cuda::finish_reference(out_.data(), decoded_.data(), numbers, view_.size, table_,
                             channels_first_);
    }
    for (std::size_t i = 0; i < batch_.count * view_.crops; ++i) {
      for (int y = 0; y < view_.size.height; ++y) {
        erase_row(erasures_of(batch_.places[i / view_.crops], i % view_.crops), place_of(i),
                  table_.dtype, y, view_.size.width);
      }
    }
  }

  // Returns an image before mixing.
  std::vector<float> elements_of(cuda::ImageRef image) const {
    const bool decoded = (image & cuda::kDecoded) != 0;
    const auto& from = decoded ? decoded_ : levels_;
    const auto at = from.begin() + static_cast<std::ptrdiff_t>(cuda::number_of(image) * pixels_);
    std::vector<std::uint8_t> levels(at, at + static_cast<std::ptrdiff_t>(pixels_));
    if (image & cuda::kMirrored) mirror(levels);
    std::size_t place = 0;  // the place that `image` refers to
    for (std::size_t seen = 0;; ++place) {
      const Place& one = batch_.slot->places[place];
      if (one.filled && one.coded == decoded && seen++ == cuda::number_of(image)) break;
    }
    return elements_reference(levels.data(), erasures_of(place, 0), view_.size, float_table_);
  }
  void mirror(std::vector<std::uint8_t>& levels) const {
    const auto width = static_cast<std::size_t>(view_.size.width);
    const std::vector<std::uint8_t> from = levels;
    for (std::size_t i = 0; i < levels.size(); ++i) {
      const std::size_t x = i / 3 % width, row = i / 3 / width;
      levels[i] = from[3 * (row * width + width - 1 - x) + i % 3];
    }
  }

  void mix() {
    for (std::size_t i = 0; i < mixes_.size(); ++i) {
      const cuda::GpuMix& one = mixes_[i];
      const double share = batch_.slot->mixes[batch_.places[i]].mix.share;
      mix_reference(elements_of(one.own), elements_of(one.partner),
                    {.kind = one.kind, .share = share, .box = one.box}, view_.size, place_of(i),
                    table_.dtype);
    }
  }

  const Batch& batch_;
  const BatchView& view_;
  const ViewRecipe& recipe_;
  const GpuViewData* data_;
  const std::vector<cuda::GpuMix> mixes_;
  const PixelTable table_, float_table_;
  const RemainingSteps remaining_;
  const ImageRange images_;
  const bool channels_first_;
  const std::size_t pixels_;
  std::vector<std::byte> out_;
  std::vector<std::uint8_t> levels_, decoded_;
};

}  // namespace tundish
