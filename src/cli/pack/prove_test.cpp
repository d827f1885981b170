#include "cli/pack/prove.h"

#include <doctest/doctest.h>

#include "base/temporary_folder.h"
#include "data/source/memory_source.h"
#include "rewrite/preprocess/preprocessor.h"

namespace tundish::cli {
namespace {

constexpr PreprocessOptions kRaw{
    .resize = ResizeTo::shortest, .side = 16, .reencode = Reencode::raw};

// Packs with the options `packed`, then tries to prove that `claimed` was applied.
Proof proof_of(const PreprocessOptions& packed, const PreprocessOptions& claimed,
               std::uint64_t most = 1000) {
  const TemporaryFolder folder;
  auto source = std::make_shared<MemorySource>(image_source(40, 60));
  source->items[3].fields[0] = bytes_of("no image");  // refused: shifts later records
  const std::atomic<bool> stop = false;
  const auto preprocessor = make_preprocessor(packed);
  const PackReport report =
      pack(folder / "a.tnd", *source, {.preprocessor = preprocessor.get(), .threads = 2});
  CHECK(report.refused.size() == 1);
  return prove(folder / "a.tnd", source, report, claimed, most, stop);
}

}  // namespace

TEST_CASE("prove: raw records are equal to the same work on line") {
  const Proof proof = proof_of(kRaw, kRaw);
  CHECK(proof.records == 39);
  CHECK(proof.different.empty());
  CHECK(proof.equal > 10);
  CHECK(proof.kept > 0);  // images that are already smaller
  CHECK(proof.equal + proof.kept == 39);
  CHECK(proof.bytes_after < proof.bytes_before);
  CHECK_FALSE(proof.psnr_min.has_value());
  CHECK(proof.before_us > 0);
  CHECK(proof.after_us > 0);
  CHECK(proof_of(kRaw, kRaw, 5).records == 5);
}

TEST_CASE("prove: another filter, another size and another crop are found out") {
  PreprocessOptions other = kRaw;
  other.interpolation = Filter::bicubic;
  CHECK(proof_of(kRaw, other).different.size() > 10);
  other = kRaw;
  other.side = 15;
  CHECK(proof_of(kRaw, other).different.size() > 10);
  other = kRaw;
  other.center_crop = {16, 16};
  CHECK(proof_of(kRaw, other).different.size() > 10);
}

TEST_CASE("prove: JPEGs have a PSNR that grows with the quality") {
  PreprocessOptions jpeg = kRaw;
  jpeg.reencode = Reencode::jpeg;
  jpeg.if_larger = PreprocessOptions::IfLarger::replace;
  jpeg.quality = 30;
  const Proof low = proof_of(jpeg, jpeg);
  jpeg.quality = 98;
  jpeg.chroma = lanes::Sampling::full;
  const Proof high = proof_of(jpeg, jpeg);
  REQUIRE(low.psnr_min.has_value());
  REQUIRE(high.psnr_min.has_value());
  CHECK(*low.psnr_min <= *low.psnr_median);
  CHECK(*low.psnr_median + 10 < *high.psnr_median);
  CHECK(low.lossy > 10);
}

TEST_CASE("prove: it stops when it is asked to") {
  const TemporaryFolder folder;
  auto source = std::make_shared<MemorySource>(image_source(3, 60));
  const std::atomic<bool> stop = true;
  const PackReport report = pack(folder / "a.tnd", *source, {});
  CHECK_THROWS_AS(prove(folder / "a.tnd", source, report, kRaw, 10, stop), Error);
}

}  // namespace tundish::cli
