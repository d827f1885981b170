#include "loader/engine/gpu/gpu_maker.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/clock.h"
#include "cuda/upload_tail.h"
#include "loader/engine/gpu/remaining_steps.h"
#include "loader/sample/admission.h"
#include "loader/sample/cached.h"

namespace tundish {
namespace {

// Upper bound of the kernel tasks for an image: the image, the tiles of its output (assuming an
// eighth of the largest tile), and all of its units, which have at least 64 by 64 pixels.
double task_bytes(const SampleInfo& info, Size output) {
  const std::uint64_t across = info.width / 64 + 1, down = info.height / 64 + 1;
  const auto tiles = static_cast<std::uint64_t>(output.width / (cuda::kTileColumns / 2) + 1) *
                     static_cast<std::uint64_t>(output.height / (cuda::kTileRows / 4) + 1);
  return static_cast<double>(8192 + tiles * sizeof(cuda::Item) +
                             down * (across * sizeof(cuda::UnitTask) + sizeof(cuda::Piece)));
}

// Estimates the total bytes of the images of a batch.
class Expected {
 public:
  void add(double bytes) {
    ++count_;
    sum_ += bytes;
    squares_ += bytes * bytes;
  }
  // Exceeded by a batch in random order with probability 10^-12.
  std::uint64_t most(std::uint32_t batch_size) const {
    const double mean = sum_ / count_, size = batch_size;
    const double deviation = std::sqrt(std::max(0.0, squares_ / count_ - mean * mean));
    const double bytes = size * mean + 7 * std::sqrt(size) * deviation + 65536;
    return static_cast<std::uint64_t>(std::min(bytes, static_cast<double>(0xf0000000u)));
  }

 private:
  double count_ = 0, sum_ = 0, squares_ = 0;
};

bool same(const lanes::Tables& a, const lanes::Tables& b) {
  return std::memcmp(a.entry, b.entry, sizeof a.entry) == 0 &&
         std::memcmp(a.set, b.set, sizeof a.set) == 0;
}

cuda::ElementPlace element_place(Size size, bool channels_first) {
  const int width = size.width, height = size.height;
  return channels_first ? cuda::ElementPlace{0, width, 1, width * height}
                        : cuda::ElementPlace{0, 3 * width, 3, 1};
}

std::uint64_t elements_of(Size size) {
  return 3 * static_cast<std::uint64_t>(size.width) * static_cast<std::uint64_t>(size.height);
}

}  // namespace

GpuMaker::GpuMaker(CpuMaker& cpu, const Recipe& recipe, const LoaderOptions& options,
                   const Order& order, const CacheSetup& cache, std::function<bool()> stopped)
    : cpu_(cpu),
      recipe_(recipe),
      options_(options),
      order_(order),
      cache_(cache),
      stopped_(std::move(stopped)) {
  if (options.gpu_may_decode()) find_tables_and_limits();
}

void GpuMaker::find_tables_and_limits() {
  const Source& source = *recipe_.source;
  if (recipe_.image_field < 0) {
    why_not_ = "the samples are arrays, of which nothing is to be decoded";
    return;
  }
  if (recipe_.mode != ImageMode::rgb) {
    why_not_ = "the GPU decodes to RGB alone, and the mode is another";
    return;
  }
  for (const ViewRecipe& view : recipe_.views) {
    if (largest_size(view.transforms) != Size{}) continue;
    why_not_ = "the transforms do not give every image the same size";
    return;
  }
  const lanes::Tables* last = nullptr;
  for (std::uint64_t i = 0; i < source.count(); ++i) {
    const lanes::Tables* tables = source.tables(i);
    if (!tables || tables == last || source.info(i).codec != Codec::lanes) continue;
    last = tables;
    const bool known = std::find(tables_.begin(), tables_.end(), tables) != tables_.end();
    if (!known && (tables_.empty() || same(*tables, *tables_.front()))) tables_.push_back(tables);
  }
  if (!possible()) {
    why_not_ = "no image of the data is a lanes record: pack them with tundish pack";
    return;
  }
  for (const ViewRecipe& view : recipe_.views) {
    const Size size = largest_size(view.transforms);
    Expected tasks, all;
    for (std::uint64_t i = 0; i < source.count(); ++i) {
      const double of_tasks = task_bytes(source.info(i), size);
      tasks.add(view.crops * of_tasks);
      all.add(view.crops * (of_tasks + static_cast<double>(source.bytes(i))));
    }
    // The last images of an unusually large batch take the CPU path.
    const std::uint32_t images = options_.batch_size + max_foreign_partners(options_);
    limits_.push_back({.buffer_bytes = all.most(images),
                       .host_bytes = (options_.resident ? tasks : all).most(images)});
  }
}

std::uint64_t GpuMaker::host_bytes() const {
  std::uint64_t sum = 0;
  for (const cuda::BatchLimits& limits : limits_) sum += limits.host_bytes;
  return sum;
}

// Adds all images of a place, or none. `record` starts `resident_at` bytes into the resident
// records, if there are any.
bool GpuMaker::add_views(Slot& slot, Place& place, const std::vector<View>& views, Bytes record,
                         std::uint64_t resident_at) {
  std::deque<GpuViewData>& data = gpu_data(slot)->views;
  std::vector<cuda::BatchPlan::Extent> before;
  for (const GpuViewData& one : data) before.push_back(one.plan.extent());
  place.gpu_work.clear();
  for (std::size_t v = 0; v < data.size(); ++v) {
    const cuda::ElementPlace to = element_place(slot.views[v].size, options_.channels_first());
    for (std::uint32_t crop = 0; crop < recipe_.views[v].crops; ++crop) {
      const View& view = views[place.gpu_work.size()];
      place.gpu_work.push_back(
          view.gpu_work_after(view.steps().size() - steps_for_gpu(view.steps())));
      const cuda::Added added = resident_ ? data[v].plan.add_resident(record, resident_at, view, to)
                                          : data[v].plan.add(record, view, to, true);
      if (!added.fault && added.made_by == cuda::MadeBy::gpu) continue;
      for (std::size_t i = 0; i < data.size(); ++i) data[i].plan.take_back(before[i]);
      return false;
    }
  }
  if (!resident_) {
    for (GpuViewData& one : data) one.plan.gather_coded(one.coded.data());
  }
  return true;
}

bool GpuMaker::can_decode(std::uint64_t sample) const {
  const SampleInfo info = recipe_.source->info(sample);
  return info.codec == Codec::lanes && (!recipe_.exif_orientation || info.orientation == 1) &&
         std::find(tables_.begin(), tables_.end(), recipe_.source->tables(sample)) !=
             tables_.end() &&
         (!resident_ || resident_->holds(sample));
}

// Plans from the image's size alone: its units are already on the GPU.
bool GpuMaker::plan_resident(Slot& slot, Place& place, Scratch& scratch) {
  const std::uint64_t sample = place.draw.sample;
  const SampleInfo info = recipe_.source->info(sample);
  ImageHeader header;
  header.codec = info.codec;
  header.width = info.width;
  header.height = info.height;
  scratch.timer.begin_sample();
  if (recipe_.fields != 0) {
    recipe_.source->read(scratch.sample, sample,
                         recipe_.fields & ~(FieldSet{1} << recipe_.image_field));
    check_array_fields(recipe_, sample, scratch.sample);
  }
  const std::vector<View> views = plan_draw(recipe_, header, slot.epoch, place.draw);
  scratch.unpadded = views.front().unpadded();
  return add_views(slot, place, views, resident_->record(sample), resident_->at(sample));
}

bool GpuMaker::plan_read(Slot& slot, std::size_t number, Scratch& scratch) {
  Place& place = slot.places[number];
  const std::uint64_t sample = place.draw.sample;
  if (cache_.samples) {
    scratch.next_use = cache_.next_use->from({slot.epoch, place.position + 1, slot.start}, sample);
  }
  const Planned planned = read_and_plan(recipe_, slot.epoch, place.draw, DecodedBy::gpu, scratch);
  scratch.kept.grow_to({.coded = planned.bytes.size()});
  if (planned.header.codec != Codec::lanes || planned.orientation != 1 || scratch.cached) {
    return false;
  }
  if (options_.all_fields) check_array_fields(recipe_, sample, scratch.sample);
  if (!add_views(slot, place, planned.views, planned.bytes, 0)) return false;
  keep_encoded(recipe_, place.draw, scratch);
  scratch.timer.status->cache_hits.add(scratch.hit ? 1 : 0);
  scratch.timer.status->cache_misses.add(cache_.samples && !scratch.hit ? 1 : 0);
  return true;
}

// Returns false if the CPU must make this place.
bool GpuMaker::add(Slot& slot, std::size_t number, Scratch& scratch) {
  Place& place = slot.places[number];
  place.draw = draw_at(order_, slot.epoch, place.position);
  if (!can_decode(place.draw.sample)) return false;
  if (!(resident_ ? plan_resident(slot, place, scratch) : plan_read(slot, number, scratch))) {
    return false;
  }
  scratch.timer.end_gather();
  scratch.timer.tally();
  place.size = slot.views.front().size;
  cpu_.read_label(place, scratch);
  cpu_.finish_place(place, scratch);
  place.filled = place.coded = true;
  return true;
}

// Returns the places that the CPU must make.
std::vector<std::size_t> GpuMaker::add_all(Slot& slot, std::unique_ptr<Scratch>& scratch) {
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < slot.places.size() && !stopped_(); ++i) {
    bool added = false;
    try {
      added = add(slot, i, *scratch);
    } catch (const Error&) {  // rethrown and reported when the CPU makes the image
    }
    if (!added) others.push_back(i);
    release_large_buffers(recipe_, scratch);
  }
  return others;
}

// Assigns a destination to each image, after all are planned.
void GpuMaker::place_images(Slot& slot, std::size_t view) const {
  cuda::BatchPlan& plan = gpu_data(slot)->views[view].plan;
  const Size size = slot.views[view].size;
  const std::uint32_t crops = recipe_.views[view].crops;
  const bool levels =
      !slot.mixes.empty() || gpu_changes_pixels(slot, images_of_view(recipe_, view));
  cuda::ElementPlace to = element_place(size, options_.channels_first() && !levels);
  std::size_t image = 0, row = 0;
  for (const Place& place : slot.places) {
    for (std::uint32_t crop = 0; place.coded && crop < crops; ++crop) {
      to.first = (levels ? image : row * crops + crop) * elements_of(size);
      plan.move(image++, to);
    }
    row += place.filled;
  }
}

void GpuMaker::begin_views(Slot& slot) const {
  for (std::size_t v = 0; v < recipe_.views.size(); ++v) {
    slot.views[v].size = fixed_size(recipe_.views[v].transforms, slot.epoch);
    GpuViewData& data = gpu_data(slot)->views[v];
    const std::size_t images = slot.places.size() * recipe_.views[v].crops;
    data.coded.reserve(limits_[v].host_bytes + cuda::upload_tail_bytes(images), options_.allocator);
    data.plan.begin(limits_[v], resident_ != nullptr);
  }
}

void GpuMaker::make(Slot& slot, std::size_t, std::unique_ptr<Scratch>& scratch) {
  const std::uint64_t begin_ns = now_ns();
  if (!slot.maker_data) slot.maker_data = std::make_unique<GpuSlotData>();
  std::deque<GpuViewData>& data = gpu_data(slot)->views;
  data.resize(recipe_.views.size());
  try {
    begin_views(slot);
  } catch (...) {
    slot.places.front().error = std::current_exception();
    return;
  }
  const std::vector<std::size_t> others = add_all(slot, scratch);
  for (std::size_t v = 0; v < data.size() && !others.empty() && !stopped_(); ++v) {
    cpu_.take_memory(slot, v, slot.views[v].size);
  }
  for (const std::size_t i : others) {
    if (stopped_()) return;
    cpu_.make(slot, i, scratch);
  }
  if (stopped_()) return;
  for (std::size_t v = 0; v < data.size(); ++v) {
    place_images(slot, v);
    data[v].plan.finish();
    data[v].plan.gather(data[v].coded.data());
    data[v].layout = data[v].plan.layout();
  }
  if (Track* const track = scratch->timer.status->track) {
    track->add("cuda.plan", begin_ns, now_ns() - begin_ns, slot.first);
  }
}

}  // namespace tundish
