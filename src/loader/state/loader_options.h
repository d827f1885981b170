// All options of a loader. fields() describes each option once (base/fields.h). The Python
// dataclass of the same name mirrors them; docs/reference.md is generated from them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "augment/transforms.h"
#include "base/fields.h"
#include "base/host_memory.h"
#include "codec/decode/decode.h"
#include "data/order/sampling.h"
#include "data/order/schedule.h"
#include "loader/memory/sample_cache.h"
#include "loader/monitor/bad_sample.h"

namespace tundish {

// Memory order of a batch, whose shape is always (N, C, H, W).
enum class MemoryFormat : std::uint8_t { channels_last = 0, contiguous = 1 };
constexpr std::array<const char*, 2> words(MemoryFormat) { return {"channels_last", "contiguous"}; }

// Device that decodes the batches of a loader for a GPU.
enum class DecodeOn : std::uint8_t { cpu = 0, gpu = 1, automatic = 2 };
constexpr std::array<const char*, 3> words(DecodeOn) { return {"cpu", "gpu", "auto"}; }

// Form of the images of a batch: one tensor, or a list with one tensor per image.
enum class ImagesAs : std::uint8_t { tensor = 0, list = 1 };
constexpr std::array<const char*, 2> words(ImagesAs) { return {"tensor", "list"}; }

struct LoaderOptions {
  std::uint32_t batch_size = 1;
  Transforms transforms = {};
  Views views = {};
  bool shuffle = false;
  std::uint64_t seed = 0;
  std::optional<int> threads = {};
  bool tune_threads = false, tune_prefetch = false;
  int prefetch = 4;
  std::uint32_t rank = 0, world_size = 1;
  std::optional<OnError> on_error = {};
  std::optional<Uneven> uneven = {};
  std::optional<double> max_bad = {};
  ImageMode mode = ImageMode::rgb;
  MemoryFormat memory_format = MemoryFormat::channels_last;
  ImagesAs images_as = ImagesAs::tensor;
  bool return_sizes = false;
  bool exif_orientation = false;
  bool all_fields = false;
  std::uint64_t memory = 0;
  CacheKind cache = CacheKind::none;
  bool pin_memory = false;
  bool for_gpu = false;
  DecodeOn decode = DecodeOn::automatic;
  bool resident = false;
  bool lends = false;
  bool replay = false;

  // Fields without description: JSON cannot hold them, or only C++ sets them.
  SamplingOptions order = {};             // sampling, draws and repeats are described below
  std::vector<std::int64_t> labels = {};  // replace the source's unless empty
  std::vector<float> label_vectors = {};  // replace it too; label_width numbers per sample
  std::uint32_t label_width = 0;
  std::string trace = {};  // file that write_trace() writes; empty: no trace
  std::size_t trace_bytes = std::size_t{8} << 20;  // memory for the newest spans
  HostAllocator allocator = kPlainMemory;          // for the batches; page-locked for a GPU
  Limits limits = {};

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    constexpr double kMaxInt = 2147483647;
    visit(FieldInfo{"batch_size", "images per batch and rank", 1, kMaxInt, true}, self.batch_size);
    visit(
        FieldInfo{
            .name = "transforms", .about = "what is done to each image, in order", .saved = true},
        self.transforms);
    visit(FieldInfo{.name = "views",
                    .about = "several lists of transforms: each gives an image of every sample",
                    .saved = true},
          self.views);
    visit(FieldInfo{.name = "shuffle", .about = "a new random order in every epoch", .saved = true},
          self.shuffle);
    visit(FieldInfo{"seed",
                    "the order and every random choice are functions of seed, epoch, position"},
          self.seed);
    visit(FieldInfo{"threads", "that read, decode and augment; none: as many CPUs as may be used",
                    1, 65535},
          self.threads);
    visit(
        FieldInfo{"tune_threads",
                  "how many threads work is found by measurement; `threads` is then the number of "
                  "CPUs that they may use"},
        self.tune_threads);
    visit(FieldInfo{"tune_prefetch",
                    "with tune_threads: more batches are kept ready where that gains and memory "
                    "has room; `prefetch` is then the least"},
          self.tune_prefetch);
    visit(FieldInfo{"prefetch", "batches kept ready ahead of the trainer", 1, kMaxInt},
          self.prefetch);
    visit(FieldInfo{"rank", "of this process", 0, kMaxInt}, self.rank);
    visit(FieldInfo{"world_size", "processes that share each epoch", 1, kMaxInt, true},
          self.world_size);
    visit(FieldInfo{.name = "on_error",
                    .about = "a bad sample: \"substitute\" (default with several ranks), \"skip\" "
                             "(default with one), \"fail\"",
                    .saved = true},
          self.on_error);
    visit(FieldInfo{.name = "uneven",
                    .about = "the last global batch: \"pad\" (default with a random order), "
                             "\"drop\", \"exact\" (default otherwise)",
                    .saved = true},
          self.uneven);
    rest_of_fields(self, visit);
  }
  template <class Self, class Visit>
  static void rest_of_fields(Self& self, Visit&& visit) {
    constexpr double kMaxInt = 2147483647;
    visit(
        FieldInfo{
            "max_bad",
            "maximum share of bad samples in an epoch (0.01); more are an error; None: any number",
            0, 1},
        self.max_bad);
    visit(FieldInfo{.name = "mode",
                    .about =
                        "format of the images, by Pillow's names: \"RGB\"; \"L\", one channel of "
                        "grays; \"I;16\", one channel of 16-bit grays; \"RGBA\", four channels",
                    .saved = true},
          self.mode);
    visit(FieldInfo{"memory_format",
                    "\"channels_last\" or \"contiguous\": memory order of the images"},
          self.memory_format);
    visit(
        FieldInfo{.name = "images_as",
                  .about = "\"tensor\", or \"list\": N tensors (C, H, W) of any sizes, on the CPU",
                  .saved = true},
        self.images_as);
    visit(FieldInfo{"return_sizes",
                    "also yield (height, width) of each image before it was padded: (N, 2)"},
          self.return_sizes);
    visit(FieldInfo{.name = "exif_orientation",
                    .about = "rotate images by their EXIF orientation (torchvision does not)",
                    .saved = true},
          self.exif_orientation);
    visit(FieldInfo{"all_fields", "also read text, bytes, numbers and arrays"}, self.all_fields);
    visit(FieldInfo{"memory", "bytes that the loader may use; 0: not counted", 0, 0x1p62},
          self.memory);
    visit(FieldInfo{"cache", "keep samples in what is left of memory"}, self.cache);
    visit(
        FieldInfo{"pin_memory", "page-locked batches, for copies to a GPU with non_blocking=True"},
        self.pin_memory);
    visit(FieldInfo{"for_gpu", "batches that a GPU finishes"}, self.for_gpu);
    visit(
        FieldInfo{
            "decode",
            "with device, who decodes: \"cpu\", \"gpu\" or \"auto\" (both are measured first)"},
        self.decode);
    visit(FieldInfo{"resident",
                    "with device: the lanes records of the data are kept in the GPU's memory"},
          self.resident);
    visit(FieldInfo{"lends", "the caller lends the memory of the batches"}, self.lends);
    visit(FieldInfo{"replay", "a batch is made again: max_bad does not count"}, self.replay);
    visit(FieldInfo{.name = "sampling", .about = "how an epoch is drawn", .saved = true},
          self.order.sampling);
    visit(FieldInfo{"draws", "positions of an epoch; 0: as many as samples", 0, 0x1p48, true},
          self.order.draws);
    visit(FieldInfo{"repeats", "times that each draw comes in a row", 1, kMaxInt, true},
          self.order.repeats);
  }
  void check() const;

  // Returns the transforms of each view; without `views` there is one view.
  Views all_views() const { return views.empty() ? Views{transforms} : views; }

  bool channels_first() const { return memory_format == MemoryFormat::contiguous; }
  bool gpu_may_decode() const { return for_gpu && decode != DecodeOn::cpu; }
};

// Reads JSON text; check_fields_of() checks ranges. Throws Error(argument) with the option's name.
LoaderOptions read_loader_options(const std::string& json);

// Returns the transforms of all views as one text, for comparing runs.
std::string transforms_text(const LoaderOptions& options);

// Sets options whose defaults depend on other options: threads, on_error, uneven.
void resolve_defaults(LoaderOptions& options);

}  // namespace tundish
