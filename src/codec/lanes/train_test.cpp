#include "codec/lanes/train.h"

#include <doctest/doctest.h>

#include <memory>

#include "codec/lanes/record.h"
#include "codec/lanes/testing.h"

namespace tundish::lanes {
namespace {

// Returns an image whose blocks all have one texture.
Coefficients make_image(Random& random, Texture texture) {
  Coefficients image = random_coefficients(random, 128, 128, Sampling::full, false);
  for (Blocks& blocks : image.blocks) {
    for (Block& block : blocks) block = random_block(random, texture);
  }
  return image;
}

std::size_t record_bytes(const Coefficients& image, const Tables& tables) {
  RecordWriter writer;
  std::vector<std::byte> record;
  REQUIRE(writer.write(record, image, tables));
  return record.size();
}

}  // namespace

TEST_CASE("tables are fitted more to an image that would grow") {
  const std::uint64_t seed = test_seed();
  CAPTURE(seed);
  Random random({.seed = seed}, 0);
  auto symbols = std::make_unique<UnitSymbols>();
  std::vector<ImageSample> samples(41);
  std::vector<Coefficients> images;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const bool last = i + 1 == samples.size();
    images.push_back(make_image(random, last ? Texture::sparse : Texture::dense));
    take_sample(samples[i], images.back(), 4, *symbols);
    samples[i].file_bits = 1e9;
  }
  auto plain = std::make_unique<Tables>(), kinder = std::make_unique<Tables>();
  fit_tables(*plain, samples);
  samples.back().file_bits = 1;
  fit_tables(*kinder, samples);
  CHECK(record_bytes(images.back(), *kinder) <= record_bytes(images.back(), *plain));
  samples.back().file_bits = 1e9;
  auto again = std::make_unique<Tables>();
  fit_tables(*again, samples);
  CHECK(encode_tables(*again) == encode_tables(*plain));
  CHECK(encode_tables(*again) != encode_tables(*kinder));
}

}  // namespace tundish::lanes
