#include "loader/engine/gpu/gpu_maker.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>

#include "augment/transform.h"
#include "augment/transforms_json.h"
#include "cuda/decode/batch_reference.h"
#include "cuda/decode/testing.h"
#include "data/source/memory_source.h"
#include "loader/engine/engine.h"
#include "loader/engine/gpu/slow_gpu.h"

namespace tundish {
namespace {

using namespace std::chrono_literals;

// Random lanes records, mixed with images of another codec and damaged images.
class RecordSource : public MemorySource {
 public:
  RecordSource(Random& random, int count) {
    schema_.fields = {
        {"image", FieldType::image}, {"label", FieldType::label}, {"name", FieldType::text}};
    for (int i = 0; i < count; ++i) {
      auto record = cuda::random_record(random, 90, lanes::builtin_tables());
      if (i % 7 == 3) record = npy_image(between(random, 20, 60), between(random, 20, 60), random);
      if (i % 11 == 5) record[record.size() / 2] ^= std::byte{16};
      items.push_back(
          {std::to_string(i), 1000 + i, {record, {}, bytes_of("name" + std::to_string(i))}, {}});
    }
    if (count > 2) items[2].fails = ErrorCode::io_read;
  }
  SampleInfo info(std::uint64_t i) const override {
    SampleInfo out = MemorySource::info(i);
    const Bytes record = items[i].fields[0];
    if (const auto size = lanes::read_size(record)) {
      out.codec = Codec::lanes;
      out.width = static_cast<std::uint32_t>(size->width);
      out.height = static_cast<std::uint32_t>(size->height);
    }
    return out;
  }
  const lanes::Tables* tables(std::uint64_t) const override { return &lanes::builtin_tables(); }
};

// Adds random mixing; the labels of a RecordSource are below 2000.
void add_mixing(LoaderOptions& options, std::vector<Transform>& transforms, Random& random) {
  switch (random.below(4)) {
    case 0:
      transforms.push_back(MixUp{.alpha = 0.8, .num_classes = 2000});
      break;
    case 1:
      transforms.push_back(CutMix{.num_classes = 2000});
      break;
    case 2:
      transforms.push_back(
          RandomChoice{.transforms = {MixUp{.num_classes = 2000}, CutMix{.num_classes = 2000}}});
      break;
    default:
      transforms.push_back(TimmMixup{.cutmix_alpha = 1.0,
                                     .prob = 0.8,
                                     .mode = static_cast<MixMode>(random.below(3)),
                                     .num_classes = 2000});
  }
  options.world_size = static_cast<std::uint32_t>(between(random, 1, 3));  // foreign partners
  options.rank = static_cast<std::uint32_t>(random.below(options.world_size));
}

// Replaces the transforms by random views.
void add_views(LoaderOptions& options, Random& random) {
  if (random.below(2) == 0) {
    options.transforms = {Resize{.size = {40, 40}}, TenCrop{.size = {17, 13}},
                          RandomSolarize{.threshold = 90}, Normalize{}};
    return;
  }
  options.transforms = {};
  options.world_size = 1;
  options.rank = 0;
  options.views = {
      {RandomResizedCrop{.size = {24, 20}}, RandomHorizontalFlip{0.5}},
      {RandomResizedCrop{.size = {9, 8}}, RandomInvert{.p = 0.5}, Normalize{}},
      {RandomResizedCrop{.size = {9, 8}}, ToDtype{.dtype = Dtype::float16, .scale = true}}};
}

LoaderOptions random_options(Random& random) {
  LoaderOptions options;
  options.batch_size = static_cast<std::uint32_t>(between(random, 1, 9));
  options.shuffle = random.below(2) == 0;
  options.seed = random.below(1000);
  options.uneven = Uneven::exact;
  options.on_error = random.below(2) == 0 ? OnError::skip : OnError::substitute;
  options.memory_format = static_cast<MemoryFormat>(random.below(2));
  options.all_fields = random.below(2) == 0;
  options.threads = between(random, 1, 3);
  options.prefetch = between(random, 1, 3);
  const int side = between(random, 5, 33);
  std::vector<Transform> transforms;
  if (random.below(2) == 0) {
    transforms = {RandomResizedCrop{.size = {side, side}}, RandomHorizontalFlip{0.5}};
  } else {
    transforms = {Resize{.size = {side, side + 3}}, CenterCrop{{side, side}},
                  RandomVerticalFlip{0.5}};
  }
  if (random.below(2) == 0) transforms.push_back(RandomSolarize{.threshold = 100});
  if (random.below(3) == 0) transforms.push_back(RandomInvert{.p = 0.1});
  if (random.below(3) == 0) transforms.push_back(RandAugment{});
  if (random.below(4) == 0) transforms.push_back(ElasticTransform{.sigma = {0.9, 0.6}});
  if (random.below(4) == 0) transforms.push_back(AugMix{});
  if (random.below(3) == 0) transforms.push_back(RandomHorizontalFlip{0.5});
  if (random.below(2) == 0) {
    transforms.push_back(
        ToDtype{.dtype = static_cast<Dtype>(between(random, 1, 3)), .scale = true});
    transforms.push_back(Normalize{.mean = {{0.5f, 0.4f, 0.3f}}, .std = {{0.2f, 0.3f, 0.4f}}});
    if (random.below(2) == 0) transforms.push_back(RandomErasing{.value = {.random = true}});
    if (random.below(2) == 0) add_mixing(options, transforms, random);
  }
  options.transforms = transforms;
  if (random.below(4) == 0) add_views(options, random);
  return options;
}

// Copies the records of a source as if they were on a GPU.
std::shared_ptr<const cuda::ResidentRecords> keep_all(const RecordSource& source,
                                                      std::vector<std::byte>& there) {
  auto out = std::make_shared<cuda::ResidentRecords>(source.count());
  for (std::uint64_t i = 0; i < source.count(); ++i) {
    const Bytes bytes = source.items[i].fields[0];
    lanes::Record record;
    if (source.items[i].fails != ErrorCode::none || source.info(i).codec != Codec::lanes) continue;
    if (record.read(bytes)) continue;
    if (record.check_rows(0, record.geometry().units_y)) continue;
    const std::uint64_t at = out->add(i, bytes, record.head_bytes());
    there.resize(out->bytes());
    std::copy(bytes.begin(), bytes.end(), there.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return out;
}

struct Tally {
  int coded = 0, others = 0;  // images decoded by the GPU; images sent as levels
};

// Compares an epoch of both engines. `path`: levels, coded, both alternately, resident.
void compare(const std::shared_ptr<RecordSource>& source, LoaderOptions options, int path,
             Tally& tally) {
  CAPTURE(path);
  Engine plain(source, options);
  options.for_gpu = true;
  options.resident = path == 3;
  Engine there(source, options);
  std::vector<std::byte> records;
  if (path == 3) there.gpu_maker()->use_resident(keep_all(*source, records));
  REQUIRE(there.decode_on_gpu(path != 0));
  plain.start(0, 0);
  there.start(0, 0);
  for (int step = 0;; ++step) {
    Batch expected, batch;
    const auto next = plain.next(expected, 60s);
    REQUIRE(there.next(batch, 60s) == next);
    if (next == Engine::Next::end) break;
    REQUIRE(batch.samples == expected.samples);
    REQUIRE(batch.labels == expected.labels);
    REQUIRE(batch.next == expected.next);
    for (std::size_t v = 0; v < batch.views.size(); ++v) {
      const SlowGpu gpu(batch, there, v, records.data());
      REQUIRE(std::equal(gpu.elements().begin(), gpu.elements().end(), expected.views[v].pixels));
    }
    for (std::size_t i = 0; options.all_fields && i < batch.count; ++i) {
      const auto name = "name" + std::to_string(batch.samples[i]);
      REQUIRE(batch.slot->places[batch.places[i]].fields[2] == bytes_of(name));
    }
    for (const std::size_t place : batch.places) {
      (batch.slot->places[place].coded ? tally.coded : tally.others) += 1;
    }
    if (path == 2) there.decode_on_gpu(step % 2 == 0);
  }
  CHECK(there.stats().bad == plain.stats().bad);
  REQUIRE(there.bad_samples().size() == plain.bad_samples().size());
  for (std::size_t i = 0; i < there.bad_samples().size(); ++i) {
    CHECK(there.bad_samples()[i].text == plain.bad_samples()[i].text);
  }
}

}  // namespace

TEST_CASE("batches for a GPU, finished by the slow twin, equal the CPU's, whoever decodes") {
  const std::uint64_t seed = test_seed();
  CAPTURE(seed);
  Random random({.seed = seed}, 0);
  Tally tally;
  for (int round = 0; round < 24; ++round) {
    const auto source = std::make_shared<RecordSource>(random, 40);
    compare(source, random_options(random), round % 4, tally);
  }
  CHECK(tally.coded > 0);
  CHECK(tally.others > 0);
}

// TUNDISH_LISTS: a file with lists of transforms as JSON (tests/loader/test_random_lists.py).
TEST_CASE("batches for a GPU equal the CPU's for the lists of a file") {
  Json lists = Json::parse(R"([[{"name": "Resize", "size": [20, 24]}, {"name": "Normalize"}]])");
  if (const char* path = std::getenv("TUNDISH_LISTS")) {
    std::ifstream file(path);
    REQUIRE(file);
    lists = Json::parse(file);
  }
  Random random({.seed = 1}, 0);
  const auto source = std::make_shared<RecordSource>(random, 12);
  Tally tally;
  for (std::size_t i = 0; i < lists.size(); ++i) {
    const std::string list = lists[i].dump();
    CAPTURE(i);
    CAPTURE(list);
    LoaderOptions options = random_options(random);
    options.transforms = read_transforms(lists[i]);
    options.views = {};
    compare(source, options, static_cast<int>(i % 4), tally);
  }
  MESSAGE(lists.size() << " lists, " << tally.coded << " images coded, " << tally.others << " not");
  CHECK(tally.coded + tally.others > 0);
}

TEST_CASE("images that do not fit into the flat buffer are decoded by the CPU") {
  Random random({.seed = 3}, 0);
  const auto source = std::make_shared<RecordSource>(random, 0);
  // A record that is larger than the batch limits assume.
  std::vector<std::byte> large;
  for (int tries = 0; large.size() < 250'000; ++tries) {
    large = cuda::random_record(random, 2000, lanes::builtin_tables());
    REQUIRE(tries < 100);
  }
  source->items.push_back({"large", 0, {large, {}, {}}, {}});
  const auto small = cuda::random_record(random, 16, lanes::builtin_tables());
  for (int i = 0; i < 300; ++i) source->items.push_back({"small", 1, {small, {}, {}}, {}});
  LoaderOptions options;
  options.batch_size = 1;
  options.threads = 1;
  options.transforms = {Resize{.size = {70, 70}}};
  Engine plain(source, options);
  options.for_gpu = true;
  for (const bool resident : {false, true}) {
    options.resident = resident;
    Engine there(source, options);
    std::vector<std::byte> records;
    if (resident) there.gpu_maker()->use_resident(keep_all(*source, records));
    REQUIRE(there.decode_on_gpu(true));
    plain.start(0, 0);
    there.start(0, 0);
    for (int step = 0; step < 2; ++step) {
      Batch expected, batch;
      REQUIRE(plain.next(expected, 60s) == Engine::Next::batch);
      REQUIRE(there.next(batch, 60s) == Engine::Next::batch);
      CHECK(batch.views.front().targets.size() == (step == 0 ? 1 : 0));
      const SlowGpu gpu(batch, there, 0, records.data());
      CHECK(
          std::equal(gpu.elements().begin(), gpu.elements().end(), expected.views.front().pixels));
    }
  }
}

TEST_CASE("the reason why a GPU cannot decode is given") {
  Random random({.seed = 4}, 0);
  const auto source = std::make_shared<RecordSource>(random, 8);
  LoaderOptions options;
  options.for_gpu = true;
  Engine sizes(source, options);
  CHECK_FALSE(sizes.decode_on_gpu(true));
  CHECK(sizes.gpu_maker()->why_not().find("same size") != std::string::npos);
  CHECK(sizes.decode_on_gpu(false));
  CHECK(sizes.gpu_maker()->tables() == nullptr);

  for (auto& item : source->items) item.fields[0] = npy_image(30, 30, random);
  options.transforms = {Resize{.size = {8, 8}}};
  Engine codecs(source, options);
  CHECK_FALSE(codecs.decode_on_gpu(true));
  CHECK(codecs.gpu_maker()->why_not().find("lanes") != std::string::npos);
  CHECK_FALSE(codecs.can_choose_decoder());
  options.decode = DecodeOn::gpu;
  CHECK_THROWS_WITH_AS(Engine(source, options), doctest::Contains("decode=\"gpu\": no image"),
                       Error);
}

TEST_CASE("who decodes at first is what the options say") {
  Random random({.seed = 5}, 0);
  const auto source = std::make_shared<RecordSource>(random, 8);
  LoaderOptions options;
  options.transforms = {Resize{.size = {8, 8}}};
  options.for_gpu = true;
  const auto engine = [&](DecodeOn decode, bool resident) {
    options.decode = decode;
    options.resident = resident;
    return std::make_unique<Engine>(source, options);
  };
  CHECK_FALSE(engine(DecodeOn::cpu, false)->decodes_on_gpu());
  CHECK_FALSE(engine(DecodeOn::cpu, false)->can_choose_decoder());
  CHECK_FALSE(engine(DecodeOn::automatic, false)->decodes_on_gpu());
  CHECK(engine(DecodeOn::automatic, false)->can_choose_decoder());
  CHECK(engine(DecodeOn::automatic, true)->decodes_on_gpu());
  CHECK_FALSE(engine(DecodeOn::automatic, true)->can_choose_decoder());
  CHECK(engine(DecodeOn::gpu, false)->decodes_on_gpu());
  CHECK_FALSE(engine(DecodeOn::gpu, false)->can_choose_decoder());
}

}  // namespace tundish
