#include "data/source/views/duplicates.h"

#include <algorithm>

#include "data/source/views/read_samples.h"

// Must be the last include: it changes how the compiler treats the code below.
#include <xxhash.h>

namespace tundish {
namespace {

struct ImageDigest {
  std::uint64_t high = 0, low = 0;
  std::uint64_t sample = kNone;
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};  // unreadable

  bool same(const ImageDigest& other) const { return high == other.high && low == other.low; }
  auto order() const { return std::tuple(high, low, sample); }
};

}  // namespace

std::vector<Duplicate> find_duplicates(
    const Source& source, std::span<const std::uint64_t> numbers, int threads,
    const std::function<void(std::uint64_t done, std::uint64_t all)>& progress) {
  const int image = source.schema().find(FieldType::image);
  if (image < 0) {
    throw Error(ErrorCode::argument, {.file = source.path()},
                "duplicates are images with the same bytes, and there are no images");
  }
  std::vector<ImageDigest> digests(numbers.size());
  ReadWork work{.fields = FieldSet{1} << image,
                .threads = threads,
                .progress = progress,
                .visit = {},
                .bad = {}};
  work.visit = [&](std::size_t k, std::uint64_t i, Sample& sample) {
    const auto& bytes = sample.fields[static_cast<std::size_t>(image)];
    if (bytes.empty()) return;
    const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
    digests[k] = {hash.high64, hash.low64, i};
  };
  work.bad = [](std::size_t, std::uint64_t, const SampleError&) {};
  read_samples(source, numbers, work);
  std::sort(digests.begin(), digests.end(),
            [](const auto& a, const auto& b) { return a.order() < b.order(); });
  std::vector<Duplicate> out;
  const ImageDigest* first = nullptr;
  for (const ImageDigest& digest : digests) {
    if (digest.sample == ImageDigest::kNone) continue;
    if (first && first->same(digest)) {
      out.push_back({digest.sample, first->sample});
    } else {
      first = &digest;
    }
  }
  std::sort(out.begin(), out.end(),
            [](const Duplicate& a, const Duplicate& b) { return a.sample < b.sample; });
  return out;
}

}  // namespace tundish
