// Builds the parts of an engine from its options before any thread starts.
#include <fmt/format.h>

#include <algorithm>

#include "augment/mixing.h"
#include "augment/transforms_json.h"
#include "base/machine/usable_cpus.h"
#include "data/source/label_vector.h"
#include "loader/engine/engine_memory.h"
#include "loader/engine/engine_shared.h"
#include "loader/state/saved_state.h"

namespace tundish {
namespace {

constexpr std::size_t kMaxSides = 7;  // array dimensions; tundish_tensor_info has room for 8

// Requires samples without an image to have arrays of one shape, which are copied unchanged.
void check_arrays(const LoaderOptions& options, const Source& source) {
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorCode::argument, {.file = source.path()}, "its samples have no image; " + why);
  };
  bool any = false;
  for (const Field& field : source.schema().fields) {
    if (!field.array) continue;
    any = true;
    if (field.array->shape.size() > kMaxSides) {
      refuse(fmt::format("'{}' has {} sides, a batch takes at most {}", printable(field.name),
                         field.array->shape.size(), kMaxSides));
    }
  }
  if (!any) refuse("and no array that has one shape in all of them");
  if (!options.transforms.list().empty() || !options.views.empty()) refuse("transforms need one");
  if (options.mode != ImageMode::rgb) refuse("mode= is for images");
  if (options.images_as != ImagesAs::tensor) refuse("images_as= is for images");
  if (options.return_sizes) refuse("return_sizes= is for images");
}

// Returns why Resize(draft=True) of the options does not work with this source; empty if it works,
// or if there is no such Resize.
std::string why_no_draft(const LoaderOptions& options, const Source& source) {
  const Views views = options.all_views();
  if (std::none_of(views.begin(), views.end(), begins_with_draft)) return {};
  if (views.size() > 1) {
    return "Resize: draft=True with several views, which share one decoded image; leave draft out";
  }
  if (options.decode == DecodeOn::gpu) {
    return "Resize: draft=True is done on the CPU only; leave draft out, or set decode=\"cpu\"";
  }
  if (options.cache == CacheKind::decoded) {
    return "Resize: draft=True with cache=\"decoded\", which keeps whole images; leave draft out, "
           "or set cache=\"encoded\"";
  }
  for (std::uint64_t i = 0; i < source.count(); ++i) {
    if (source.info(i).codec != Codec::lanes) continue;
    return "Resize: draft=True needs plain JPEGs, and this pack has images that were re-coded to "
           "lanes, which are decoded at full size; leave draft out, or pack with --codec keep";
  }
  return {};
}

void check_against(const LoaderOptions& options, const Source& source) {
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorCode::argument, {.file = source.path()}, why);
  };
  try {
    check_fields_of(options, "");
  } catch (const Error& error) {
    refuse(error.reason());
  }
  if (!source.random_access()) {
    throw Error(ErrorCode::no_random_access, {.file = source.path()}, "");
  }
  const std::uint64_t count = source.count();
  if (count == 0) throw Error(ErrorCode::source_empty, {.file = source.path()}, "no samples");
  if (!options.labels.empty() && options.labels.size() != count) {
    refuse(fmt::format("{} labels for {} samples", options.labels.size(), count));
  }
  if (options.label_vectors.size() != options.label_width * count) {
    refuse(fmt::format("{} numbers of labels for {} samples of {}", options.label_vectors.size(),
                       count, options.label_width));
  }
  if (source.schema().find(FieldType::image) < 0) check_arrays(options, source);
  if (const std::string why = why_no_draft(options, source); !why.empty()) refuse(why);
}

// A worker plans a whole batch for a GPU, so there are as many batches as workers. A budget covers
// `prefetch` batches only.
std::size_t more_single(const LoaderOptions& options) {
  if (!options.gpu_may_decode() || options.memory > 0) return 0;
  const int threads = options.threads.value_or(static_cast<int>(usable_cpus()));
  return static_cast<std::size_t>(std::max(threads - 1, 0));
}

}  // namespace

Engine::Shared::Shared(std::shared_ptr<const Source> source, LoaderOptions options_in)
    : options(std::move(options_in)),
      ring(static_cast<std::size_t>(std::max(options.prefetch, 1)),
           options.memory > 0 ? most_batches(options) : 0, options.for_gpu ? kBatchesAtGpu : 0,
           more_single(options)),
      bad(source->path(), options.max_bad.value_or(-1)) {
  check_against(options, *source);
  resolve_defaults(options);
  make_recipe(std::move(source));
  if (!options.trace.empty()) trace_to(options.trace);
  make_tuner();
  order = make_order(
      options.order, recipe.source->count(),
      [this](std::uint64_t sample) { return label_of(options, *recipe.source, sample); },
      options.seed, options.shuffle);
  schedule = {.count = epoch_length(order),
              .batch_size = options.batch_size,
              .rank = options.rank,
              .world_size = options.world_size,
              .uneven = *options.uneven};
  identity = {.fingerprint = fingerprint(*recipe.source, order, options),
              .order = describe(order),
              .seed = options.seed,
              .positions = schedule.count,
              .transforms = transforms_text(options),
              .mode = options.mode,
              .exif_orientation = options.exif_orientation};
  make_mixer();
  if (options.replay) check_replay(options, recipe, schedule.count);
  if (options.for_gpu) make_gpu_maker();
  if (options.memory > 0) {
    // Some batches may be decoded, others coded; a slot has room for both.
    const bool coded = gpu_maker && gpu_maker->possible();
    const std::uint64_t more = coded ? gpu_maker->host_bytes() : 0;
    const std::uint64_t images = std::min<std::uint64_t>(options.batch_size, schedule.count);
    budget = make_budget(options, recipe, schedule.count, (more + images - 1) / images);
  }
  if (options.cache != CacheKind::none) cache = make_cache(options, recipe, order, schedule);
}

void Engine::Shared::make_recipe(std::shared_ptr<const Source> source) {
  recipe.image_field = source->schema().find(FieldType::image);
  recipe.source = std::move(source);
  recipe.fields = options.all_fields ? kAllFields : 0;
  recipe.seed = options.seed;
  find_label_vectors();
  if (recipe.image_field < 0) return make_array_recipe();
  const bool mixes = mixing_of(options.transforms).has_value();
  for (const Transforms& transforms : options.all_views()) {
    const PixelTable table = pixel_table(transforms, options.mode);
    recipe.views.push_back({.transforms = transforms,
                            .dtype = table.dtype,
                            .stored = options.for_gpu ? Dtype::uint8 : table.dtype,
                            .table = mixes || options.for_gpu ? PixelTable{} : table,
                            .crops = crops_of(transforms)});
  }
  recipe.cpu_part = options.for_gpu ? CpuPart::to_gpu : mixes ? CpuPart::levels : CpuPart::all;
  recipe.mode = options.mode;
  recipe.exif_orientation = options.exif_orientation;
  recipe.limits = options.limits;
}

// Makes a tensor of the batch from every array of fixed shape.
void Engine::Shared::make_array_recipe() {
  const Schema& schema = recipe.source->schema();
  for (std::size_t f = 0; f < schema.fields.size(); ++f) {
    const std::optional<ArrayType>& array = schema.fields[f].array;
    if (!array || static_cast<int>(f) == recipe.label_field) continue;
    ViewRecipe view;
    view.array_field = static_cast<int>(f);
    view.array_bytes = static_cast<std::size_t>(array_bytes(*array).value_or(0));
    recipe.fields |= FieldSet{1} << f;
    recipe.views.push_back(std::move(view));
  }
}

// Finds label vectors, either in the options or in a field of every sample.
void Engine::Shared::find_label_vectors() {
  const Schema& schema = recipe.source->schema();
  recipe.label_width = options.label_width;
  const int field = label_vector_field(schema);
  if (recipe.label_width == 0 && options.labels.empty() && field >= 0) {
    recipe.label_field = field;
    recipe.label_width = static_cast<std::uint32_t>(schema.classes.size());
    recipe.fields |= FieldSet{1} << field;
  }
  const bool by_class =
      options.order.sampling == Sampling::groups && options.order.group_sizes.empty();
  if (recipe.label_width > 0 && by_class) {
    throw Error(ErrorCode::argument, {.file = recipe.source->path()},
                "an order by class needs one label per sample, and these labels are vectors");
  }
}

// Creates the mixer. Every sample needs a label, because labels become vectors.
void Engine::Shared::make_mixer() {
  const std::optional<Mixing> mixing = mixing_of(options.transforms);
  if (!mixing) return;
  const Source& source = *recipe.source;
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorCode::argument, {.file = source.path()}, "MixUp and CutMix: " + why);
  };
  const bool vectors = recipe.label_width > 0;
  const std::uint64_t known = vectors ? recipe.label_width : source.schema().classes.size();
  const std::uint64_t classes = mixing->classes().value_or(known);
  if (vectors && classes != known) {
    refuse(
        fmt::format("the labels are vectors of {} numbers, and num_classes is {}", known, classes));
  }
  if (vectors && mixing->label_smoothing() != 0) {
    refuse("label_smoothing must be 0 where labels are vectors");
  }
  if (classes == 0) refuse("the data name no classes; give num_classes");
  for (std::uint64_t i = 0; !vectors && i < source.count(); ++i) {
    const std::int64_t label = label_of(options, source, i);
    if (label >= 0 && static_cast<std::uint64_t>(label) < classes) continue;
    refuse(fmt::format("they mix labels from 0 to {}, and the label of sample {} is {}",
                       classes - 1, i, label));
  }
  if (largest_size(options.transforms) == Size{}) {
    refuse("the transforms before them must give every image the same size");
  }
  mixer = std::make_unique<Mixer>(*mixing, recipe, options, schedule,
                                  static_cast<std::uint32_t>(classes));
  cpu_maker.use_mixer(mixer.get());
  delivery.use_mixer(mixer.get());
}

void Engine::Shared::make_gpu_maker() {
  gpu_maker = std::make_unique<GpuMaker>(cpu_maker, recipe, options, order, cache,
                                         [this] { return ring.is_closed(); });
  decode_on_gpu = options.decode == DecodeOn::gpu || options.resident;
  if (decode_on_gpu && !gpu_maker->possible()) {
    throw Error(ErrorCode::argument, {.file = recipe.source->path()},
                "decode=\"gpu\": " + gpu_maker->why_not());
  }
}

}  // namespace tundish
