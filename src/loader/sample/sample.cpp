#include "loader/sample/sample.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <span>

#include "base/clock.h"
#include "codec/decode/npy.h"
#include "loader/sample/admission.h"
#include "loader/sample/arrays.h"
#include "loader/sample/cached.h"
#include "loader/sample/gray_rows.h"
#include "loader/sample/orientation.h"
#include "loader/sample/window_rows.h"

namespace tundish {
namespace {

std::uint8_t orientation_of(const Recipe& recipe, const ImageHeader& header) {
  return recipe.exif_orientation ? header.orientation : std::uint8_t{1};
}

[[noreturn]] void refuse_draft() {
  throw Error(ErrorCode::argument, {},
              "Resize: draft=True needs plain JPEGs, and this image was re-coded to lanes, which "
              "decodes faster at full size; leave draft out, or pack with --codec keep");
}

// Passes strips on and measures the time that the next sink takes.
class TimedSink : public StripSink {
 public:
  explicit TimedSink(StripSink& next) : next_(next) {}
  void push(const Strip& strip) override {
    const std::uint64_t begin_ns = now_ns();
    next_.push(strip);
    spent_ns += now_ns() - begin_ns;
  }
  std::uint64_t spent_ns = 0;

 private:
  StripSink& next_;
};

// Sends the rows of `needed` to the sink, from the cache or decoded.
void decode_rgb(StripSink& sink, const Planned& planned, const Window& needed, const Recipe& recipe,
                const Draw& draw, Scratch& scratch) {
  const auto& [bytes, header, orientation, views] = planned;
  if (!scratch.cached) {
    decode_to_cache(recipe, draw, views, bytes, header, orientation, scratch);
  }
  if (scratch.cached) {
    return push_cached(sink, *scratch.cached, needed, header.keep_alpha, scratch.decode);
  }
  const std::optional<Fault> fault =
      orientation == 1 ? decode(sink, bytes, header, needed, scratch.decode, recipe.limits)
                       : decode_upright(scratch.upright, bytes, header, orientation, scratch.decode,
                                        recipe.limits);
  if (fault) throw SampleError(*fault, recipe.source->where_in(draw.sample, recipe.image_field));
  if (orientation == 1) return;
  Strip upright = whole_strip(scratch.upright, views.front().image());
  if (header.keep_alpha) {
    upright.alpha = scratch.upright.data() + scratch.upright.size() / 4 * 3;
    upright.alpha_stride = upright.width;
  }
  sink.push(upright);
}

// Like decode_rgb(), in the mode of the batch. Measures the time of decoding in one sample of many.
void decode_image(StripSink& sink, const Planned& planned, const Window& needed,
                  const Recipe& recipe, const Draw& draw, Scratch& scratch) {
  TimedSink timed(sink);
  StripSink& next = scratch.timer.is_measured() ? timed : sink;
  const std::uint64_t begin_ns = scratch.timer.is_measured() ? now_ns() : 0;
  if (recipe.mode == ImageMode::l) {
    GrayRows gray(next, scratch.gray);
    decode_rgb(gray, planned, needed, recipe, draw, scratch);
  } else {
    decode_rgb(next, planned, needed, recipe, draw, scratch);
  }
  if (scratch.timer.is_measured()) scratch.timer.add_decode(now_ns() - begin_ns - timed.spent_ns);
}

bool is_empty(const Window& window) { return window.width <= 0 || window.height <= 0; }

// Decodes one image and runs its plan. A GPU may run the last steps.
void run(const Planned& planned, const View& view, const PixelTable& table, const Placement& row,
         const Recipe& recipe, const Draw& draw, GpuWork& work, Scratch& scratch) {
  scratch.plan.begin(view, table, row, recipe.cpu_part);
  const Window needed = scratch.plan.needed();
  if (!is_empty(needed)) {
    decode_image(scratch.plan.sink(), planned, needed, recipe, draw, scratch);
  }
  work = scratch.plan.finish();
}

// An image of the sample, and its destination.
struct ImageTask {
  std::size_t number;
  const PixelTable* table;
  Placement row;
  Window needed;  // window of the decoded image
};

// Returns the window of the decoded image that covers the windows of several images. Empty if
// decoding it once saves nothing.
Window shared_window(std::span<const ImageTask> tasks) {
  std::int64_t sum = 0;
  int left = INT_MAX, top = INT_MAX, right = 0, bottom = 0;
  for (const ImageTask& task : tasks) {
    const Window& needed = task.needed;
    if (is_empty(needed)) continue;
    sum += std::int64_t{needed.width} * needed.height;
    left = std::min(left, needed.x);
    top = std::min(top, needed.y);
    right = std::max(right, needed.x + needed.width);
    bottom = std::max(bottom, needed.y + needed.height);
  }
  const std::int64_t together = sum > 0 ? (std::int64_t{right} - left) * (bottom - top) : 0;
  return sum > together ? Window{left, top, right - left, bottom - top} : Window{};
}

// Like run() for several images of one sample: decodes once if that is cheaper.
void run_all(const Planned& planned, std::span<ImageTask> tasks, const Recipe& recipe,
             const Draw& draw, Scratch& scratch) {
  for (ImageTask& task : tasks) {
    scratch.plan.begin(planned.views[task.number], *task.table, task.row, recipe.cpu_part);
    task.needed = scratch.plan.needed();
  }
  const Window window = scratch.cached ? Window{} : shared_window(tasks);
  WindowRows rows(scratch.shared, window, planned.header.keep_alpha);
  if (!is_empty(window)) decode_image(rows, planned, window, recipe, draw, scratch);
  for (const ImageTask& task : tasks) {
    const View& view = planned.views[task.number];
    if (is_empty(window)) {
      run(planned, view, *task.table, task.row, recipe, draw, scratch.gpu_work[task.number],
          scratch);
      continue;
    }
    scratch.plan.begin(view, *task.table, task.row, recipe.cpu_part);
    if (!is_empty(task.needed)) scratch.plan.sink().push(rows.strip());
    scratch.gpu_work[task.number] = scratch.plan.finish();
  }
}

}  // namespace

std::vector<View> plan_draw(const Recipe& recipe, const ImageHeader& header, std::uint64_t epoch,
                            const Draw& draw) {
  const Size stored{static_cast<int>(header.width), static_cast<int>(header.height)};
  const Size image = upright_size(stored, orientation_of(recipe, header));
  std::vector<View> views;
  views.reserve(recipe.images());
  try {
    for (std::uint32_t number = 0; number < recipe.views.size(); ++number) {
      const ViewRecipe& view = recipe.views[number];
      const Key key{.seed = recipe.seed,
                    .epoch = epoch,
                    .sample = draw.sample,
                    .repeat = draw.repeat,
                    .view = number};
      for (std::uint32_t crop = 0; crop < view.crops; ++crop) {
        const bool can_reduce = header.codec == Codec::jpeg;
        if (header.codec == Codec::lanes && begins_with_draft(view.transforms)) refuse_draft();
        views.push_back(plan_view(view.transforms, image, key, crop, recipe.mode, can_reduce));
      }
    }
    return views;
  } catch (const Error& error) {
    throw Error(error.code(), recipe.source->where(draw.sample), error.reason());
  }
}

namespace {

std::optional<Fault> check_array(const Field& field, Bytes bytes) {
  if (!field.array) return check_npy(bytes);
  if (bytes.size() == array_bytes(*field.array)) return std::nullopt;
  return Fault{ErrorCode::image_damaged,
               fmt::format("{} bytes, which is not {}", with_commas(bytes.size()),
                           array_text(*field.array))};
}

}  // namespace

void check_array_fields(const Recipe& recipe, std::uint64_t number, const Sample& sample) {
  const std::vector<Field>& fields = recipe.source->schema().fields;
  for (std::size_t f = 0; f < fields.size(); ++f) {
    if (fields[f].type != FieldType::array || sample.fields[f].empty()) continue;
    auto fault = check_array(fields[f], sample.fields[f]);
    if (!fault) continue;
    fault->reason = fmt::format("field '{}': {}", printable(fields[f].name), fault->reason);
    throw SampleError(*fault, recipe.source->where_in(number, static_cast<int>(f)));
  }
}

Planned read_and_plan(const Recipe& recipe, std::uint64_t epoch, const Draw& draw,
                      DecodedBy decoded_by, Scratch& scratch) {
  if (recipe.image_field < 0) return read_arrays(recipe, draw, scratch);
  const Source& source = *recipe.source;
  const FieldSet image_bit = FieldSet{1} << recipe.image_field;
  scratch.timer.begin_sample();
  admit_read(recipe, draw, scratch);
  for (;;) {
    // Reads the sample unless it is cached.
    scratch.timer.begin_read(draw);
    if (!take_cached(recipe, draw, scratch)) {
      source.read(scratch.sample, draw.sample, recipe.fields | image_bit);
    }
    const Bytes bytes = scratch.sample.fields[static_cast<std::size_t>(recipe.image_field)];
    scratch.timer.end_read(draw, scratch.hit ? 0 : bytes.size());

    // Plans: makes every random choice before a byte is decoded.
    ImageHeader header;
    if (scratch.cached) {
      header = scratch.cached->header;
    } else if (auto fault = source.read_header(header, draw.sample, bytes, recipe.limits)) {
      throw SampleError(*fault, source.where_in(draw.sample, recipe.image_field));
    }
    header.keep_alpha = recipe.mode == ImageMode::rgba;
    header.keep16 = recipe.mode == ImageMode::i16 && !scratch.cached;
    Planned out{bytes, header, orientation_of(recipe, header),
                plan_draw(recipe, header, epoch, draw)};
    reduce(out.header, out.views.front().reduction());
    scratch.unpadded = out.views.front().unpadded();
    if (decoded_by == DecodedBy::gpu ||
        admit(recipe, draw, out.views, out.header, out.orientation, scratch)) {
      return out;
    }
  }
}

void write_rows(std::span<const Placement> rows, const Planned& planned, const Recipe& recipe,
                const Draw& draw, Scratch& scratch) {
  if (recipe.image_field < 0) return copy_arrays(rows, recipe, draw, scratch);
  scratch.timer.begin_decode(draw);
  scratch.gpu_work.resize(planned.views.size());
  std::vector<ImageTask> tasks;
  std::size_t number = 0;
  for (const ViewRecipe& view : recipe.views) {
    for (std::uint32_t crop = 0; crop < view.crops; ++crop, ++number) {
      if (rows[number].base) tasks.push_back({number, &view.table, rows[number], {}});
    }
  }
  if (tasks.empty()) return;
  if (tasks.size() == 1) {
    const auto& [image, table, row, needed] = tasks.front();
    run(planned, planned.views[image], *table, row, recipe, draw, scratch.gpu_work[image], scratch);
  } else {
    run_all(planned, tasks, recipe, draw, scratch);
  }
  keep_encoded(recipe, draw, scratch);
  scratch.timer.end_sample(draw, planned.header.codec);
}

}  // namespace tundish
