#include "batch/coded_batch.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "batch/admission.h"
#include "batch/cached.h"
#include "batch/engine_shared.h"
#include "core/clock.h"

namespace tundish {
namespace {

// Tasks of the kernels for an image, generously: itself, the tiles of its output, all of its units,
// which are of 64 by 64 pixels at least.
double task_bytes(const SampleInfo& info, Size output) {
  const std::uint64_t across = info.width / 64 + 1, down = info.height / 64 + 1;
  const auto tiles = static_cast<std::uint64_t>(output.width / 112 + 1) *
                     static_cast<std::uint64_t>(output.height / 14 + 1);
  return static_cast<double>(8192 + tiles * sizeof(cuda::Item) +
                             down * (across * sizeof(cuda::UnitTask) + sizeof(cuda::Piece)));
}

// How much the images of a batch take together.
class Expected {
 public:
  void add(double bytes) {
    ++count_;
    sum_ += bytes;
    squares_ += bytes * bytes;
  }
  // A batch of a random order takes more than this once in a million million.
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

CodedOptions coded_options(const Recipe& recipe, std::uint32_t batch_size, bool resident,
                           std::string& why) {
  CodedOptions out;
  const Source& source = *recipe.source;
  const Size size = fixed_size(recipe.transforms);
  if (size == Size{}) {
    why = "the transforms do not give every image the same size";
    return out;
  }
  Expected tasks, all;
  const lanes::Tables* last = nullptr;
  for (std::uint64_t i = 0; i < source.count(); ++i) {
    const double of_tasks = task_bytes(source.info(i), size);
    tasks.add(of_tasks);
    all.add(of_tasks + static_cast<double>(source.bytes(i)));
    const lanes::Tables* tables = source.tables(i);
    if (!tables || tables == last || source.info(i).codec != Codec::lanes) continue;
    last = tables;
    const bool known = std::find(out.tables.begin(), out.tables.end(), tables) != out.tables.end();
    if (!known && (out.tables.empty() || same(*tables, *out.tables.front()))) {
      out.tables.push_back(tables);
    }
  }
  if (!out.possible()) {
    why = "no image of the data is a lanes record: pack them with tundish pack";
    return out;
  }
  // The last images of a larger batch go by the CPU.
  out.limits.buffer_bytes = all.most(batch_size);
  out.limits.host_bytes = (resident ? tasks : all).most(batch_size);
  return out;
}

bool Engine::Shared::add_coded(Slot& slot, std::size_t number, cuda::BatchPlan& plan,
                               Scratch& scratch) {
  Place& place = slot.places[number];
  const std::uint64_t at = slot.first + number;
  place.draw = draw_at(order, slot.epoch, at);
  const std::uint64_t sample = place.draw.sample;
  const Source& source = *recipe.source;
  const auto& tables = coded.tables;
  const SampleInfo info = source.info(sample);
  if (info.codec != Codec::lanes || (recipe.exif_orientation && info.orientation != 1) ||
      std::find(tables.begin(), tables.end(), source.tables(sample)) == tables.end()) {
    return false;
  }
  const cuda::ElementPlace elements = element_place(slot.size, options.channels_first());
  cuda::Added added;
  if (coded.resident) {
    if (!coded.resident->holds(sample)) return false;
    ImageHeader header;
    header.codec = info.codec;
    header.width = info.width;
    header.height = info.height;
    scratch.begin_ns = now_ns();
    scratch.bytes = scratch.read_ns = 0;
    if (recipe.fields != 0) {
      source.read(scratch.sample, sample, recipe.fields & ~(FieldSet{1} << recipe.image_field));
      check_fields(recipe, sample, scratch.sample);
    }
    const View view = plan_draw(recipe, header, slot.epoch, place.draw);
    added = plan.add_resident(coded.resident->record(sample), coded.resident->at(sample), view,
                              elements);
  } else {
    if (cache.samples) {
      scratch.next_use = cache.next_use->from({slot.epoch, at + 1, slot.start}, sample);
    }
    admit_read(recipe, place.draw, scratch);
    const Planned planned = read_and_plan(recipe, slot.epoch, place.draw, scratch);
    scratch.kept.grow_to({.coded = planned.bytes.size()});
    if (planned.header.codec != Codec::lanes || planned.orientation != 1 || scratch.cached) {
      return false;
    }
    if (options.all_fields) check_fields(recipe, sample, scratch.sample);
    added = plan.add(planned.bytes, planned.view, elements, true);
  }
  if (added.fault || added.road != cuda::Road::gpu) return false;
  if (!coded.resident) {
    plan.gather_coded(slot.coded.data());
    keep_encoded(recipe, place.draw, scratch);
    scratch.doing->cache_hits.add(scratch.hit ? 1 : 0);
    scratch.doing->cache_misses.add(cache.samples && !scratch.hit ? 1 : 0);
  }
  scratch.decode_ns = now_ns() - scratch.begin_ns - scratch.read_ns;
  scratch.augment_ns = 0;
  tally(scratch);
  place.size = slot.size;
  place.label = label_of(sample);
  if (options.all_fields) keep_fields(place, scratch.sample);
  place.filled = place.coded = true;
  return true;
}

void Engine::Shared::fill_coded(Slot& slot, cuda::BatchPlan& plan,
                                std::unique_ptr<Scratch>& scratch) {
  const std::uint64_t begin_ns = now_ns();
  slot.size = fixed_size(options.transforms);
  const bool resident = coded.resident != nullptr;
  try {
    slot.coded.reserve(coded.limits.host_bytes + tail_bytes(slot.places.size()), options.allocator);
  } catch (...) {
    slot.places.front().error = std::current_exception();
    return;
  }
  plan.begin(coded.limits, resident);
  std::vector<std::size_t> others;  // places of the CPU's road
  for (std::size_t i = 0; i < slot.places.size(); ++i) {
    bool added = false;
    try {
      added = add_coded(slot, i, plan, *scratch);
    } catch (const Error&) {  // met again, and told, below
    }
    if (!added) others.push_back(i);
    lighten(recipe, scratch);
    if (ring.is_closed()) return;
  }
  if (!others.empty()) take_memory(slot, slot.size);
  for (const std::size_t i : others) {
    if (ring.is_closed()) return;
    fill(slot, i, [&](Size size) { return place_in(slot, i, size); }, scratch);
  }
  std::size_t image = 0, row = 0;
  for (const Place& place : slot.places) {
    if (place.coded) plan.move(image++, row * elements_of(slot.size));
    row += place.filled;
  }
  plan.finish();
  plan.gather(slot.coded.data());
  slot.layout = plan.layout();
  if (Track* track = scratch->doing->track) {
    track->add("cuda.plan", begin_ns, now_ns() - begin_ns, slot.first);
  }
}

}  // namespace tundish
