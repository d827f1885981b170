#include "cli/pack/prove.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "augment/cpu/layout.h"
#include "augment/transform.h"
#include "cli/evenly_spaced.h"
#include "data/pack/reader.h"
#include "loader/sample/orientation.h"
#include "loader/sample/sample.h"
#include "rewrite/preprocess/target.h"

namespace tundish::cli {
namespace {

constexpr int kRounds = 3;
constexpr int kCrop = 224;  // side of the random crop in the timing

// Returns the number of the sample that became this record. Refused samples are not in the pack.
std::uint64_t sample_of(std::uint64_t record, const std::vector<std::uint64_t>& refused) {
  std::uint64_t sample = record;
  for (const std::uint64_t number : refused) {
    if (number > sample) break;
    ++sample;
  }
  return sample;
}

// One image as a loader returns it: uint8, (height, width, 3).
struct Loaded {
  Size size;
  std::vector<std::byte> pixels;
};

// Runs a loader's work on one sample, with transforms for that sample.
class OneSample {
 public:
  OneSample(std::shared_ptr<const Source> source, bool exif_orientation) {
    recipe_.image_field = source->schema().find(FieldType::image);
    recipe_.source = std::move(source);
    recipe_.exif_orientation = exif_orientation;
    recipe_.views.resize(1);
    recipe_.views[0].table = pixel_table(Transforms{});
  }

  void set(const Transforms& transforms) { recipe_.views[0].transforms = transforms; }

  void load(Loaded& out, std::uint64_t sample) {
    const Draw draw{.sample = sample};
    const Planned planned = read_and_plan(recipe_, 0, draw, DecodedBy::cpu, scratch_);
    out.size = planned.size(0);
    out.pixels.resize(image_bytes(out.size, Dtype::uint8));
    const Placement row = placement(out.pixels.data(), out.size, Dtype::uint8, false, 3);
    write_rows({&row, 1}, planned, recipe_, draw, scratch_);
  }

  // Returns the size after EXIF rotation, if it applies.
  Size size_of(std::uint64_t sample) {
    recipe_.source->read(bytes_, sample, FieldSet{1} << recipe_.image_field);
    ImageHeader header;
    const Bytes image = bytes_.fields.at(static_cast<std::size_t>(recipe_.image_field));
    if (auto fault = recipe_.source->read_header(header, sample, image, recipe_.limits)) {
      throw SampleError(*fault, recipe_.source->where_in(sample, recipe_.image_field));
    }
    return upright_size({static_cast<int>(header.width), static_cast<int>(header.height)},
                        recipe_.exif_orientation ? header.orientation : std::uint8_t{1});
  }

 private:
  Recipe recipe_;
  Scratch scratch_;
  Sample bytes_;
};

double psnr(const Loaded& a, const Loaded& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.pixels.size(); ++i) {
    const double difference = std::to_integer<int>(a.pixels[i]) - std::to_integer<int>(b.pixels[i]);
    sum += difference * difference;
  }
  if (sum == 0) return 99;  // identical; finite so that the table stays readable
  return 10 * std::log10(255.0 * 255.0 * static_cast<double>(a.pixels.size()) / sum);
}

class Comparison {
 public:
  Comparison(const std::string& target, const std::shared_ptr<const Source>& source,
             const PackReport& report, const PreprocessOptions& options,
             const std::atomic<bool>& stop)
      : options_(options),
        stop_(stop),
        pack_(Pack::open(target)),
        source_(source),
        field_(static_cast<std::size_t>(source->schema().find(FieldType::image))),
        before_(source, options.apply_orientation),
        after_(pack_, options.apply_orientation) {
    for (const Refusal& refusal : report.refused) refused_.push_back(refusal.sample);
    std::sort(refused_.begin(), refused_.end());
  }

  Proof run(std::uint64_t most) {
    const std::uint64_t count = std::min(most, pack_->count());
    for (std::uint64_t k = 0; k < count; ++k) {
      check_stop();
      compare(evenly_spaced(k, count, pack_->count()));
    }
    if (!psnrs_.empty()) {
      std::sort(psnrs_.begin(), psnrs_.end());
      proof_.psnr_min = psnrs_.front();
      proof_.psnr_median = psnrs_[psnrs_.size() / 2];
    }
    time_all();
    return std::move(proof_);
  }

 private:
  // A record on which both variants can be timed.
  struct Timed {
    std::uint64_t record, sample;
    bool kept;
    Transforms transforms;  // applied while packing
  };

  void check_stop() const {
    if (stop_) throw Error(ErrorCode::interrupted, {.file = pack_->path()}, "");
  }

  void compare(std::uint64_t record) {
    const std::uint64_t sample = sample_of(record, refused_);
    const FieldSet image = FieldSet{1} << field_;
    source_->read_original(original_, sample, image);
    pack_->read_original(packed_, record, image);
    const bool kept = original_.fields[field_] == packed_.fields[field_];
    ++proof_.records;
    proof_.kept += kept;
    proof_.bytes_before += original_.fields[field_].size();
    proof_.bytes_after += pack_->bytes(record) + pack_->restore_bytes(record) - other_bytes(record);
    Target target;
    try {
      target = target_of(options_, before_.size_of(sample));
      before_.set(target.transforms);
      before_.load(expected_, sample);
    } catch (const SampleError&) {
      if (kept) return;  // a broken image was packed unchanged
      throw;
    }
    timed_.push_back({record, sample, kept, target.transforms});
    if (kept) return;
    after_.set({});
    after_.load(loaded_, record);
    judge(record);
  }

  std::uint64_t other_bytes(std::uint64_t record) const {
    return pack_->bytes(record) - pack_->field_bytes(record, static_cast<int>(field_));
  }

  void judge(std::uint64_t record) {
    const Codec codec = pack_->info(record).codec;
    const bool same_size = loaded_.size == expected_.size;
    if (same_size && (codec == Codec::jpeg || codec == Codec::lanes)) {
      ++proof_.lossy;
      psnrs_.push_back(psnr(loaded_, expected_));
    } else if (same_size && loaded_.pixels == expected_.pixels) {
      ++proof_.equal;
    } else {
      proof_.different.push_back(pack_->key_or_nothing(record));
    }
  }

  // Both variants do the whole work of a loader; in the first, it includes the preprocessing.
  void time_all() {
    const std::vector<Transform> augment = {RandomResizedCrop{.size = {kCrop, kCrop}},
                                            RandomHorizontalFlip{}};
    std::vector<double> before, after;
    for (int round = 0; round < kRounds && !timed_.empty(); ++round) {
      double sum[2] = {};
      for (const Timed& timed : timed_) {
        check_stop();
        std::vector<Transform> list = timed.transforms.list();
        list.insert(list.end(), augment.begin(), augment.end());
        sum[0] += time_one(before_, Transforms(list), timed.sample);
        sum[1] +=
            time_one(after_, timed.kept ? Transforms(list) : Transforms(augment), timed.record);
      }
      const auto images = static_cast<double>(timed_.size());
      before.push_back(sum[0] / images);
      after.push_back(sum[1] / images);
    }
    if (before.empty()) return;
    std::sort(before.begin(), before.end());
    std::sort(after.begin(), after.end());
    proof_.before_us = before[before.size() / 2];
    proof_.after_us = after[after.size() / 2];
  }

  double time_one(OneSample& loader, const Transforms& transforms, std::uint64_t number) {
    loader.set(transforms);
    const auto start = std::chrono::steady_clock::now();
    loader.load(loaded_, number);
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
        .count();
  }

  const PreprocessOptions options_;
  const std::atomic<bool>& stop_;
  const std::shared_ptr<const Pack> pack_;      // shared with after_
  const std::shared_ptr<const Source> source_;  // shared with before_ and the caller
  const std::size_t field_;
  OneSample before_, after_;
  std::vector<std::uint64_t> refused_;
  Sample original_, packed_;
  Loaded expected_, loaded_;
  std::vector<Timed> timed_;
  std::vector<double> psnrs_;
  Proof proof_;
};

}  // namespace

Proof prove(const std::string& target, const std::shared_ptr<const Source>& source,
            const PackReport& report, const PreprocessOptions& options, std::uint64_t most,
            const std::atomic<bool>& stop) {
  return Comparison(target, source, report, options, stop).run(most);
}

}  // namespace tundish::cli
