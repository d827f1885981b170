// Restore data that request more memory than the image can need are refused before allocation.
#include <doctest/doctest.h>

#include "codec/lanes/jpeg_maker.h"
#include "codec/lanes/jpeg_restore.h"
#include "codec/lanes/transcode.h"

namespace tundish::lanes {
namespace {

void put_varint(ByteVector& out, std::uint32_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<std::byte>(value | 0x80));
  out.push_back(static_cast<std::byte>(value));
}

// Returns `flags`, a count, and `each` zero bytes per counted entry. No scan uses the entries.
ByteVector bomb(int flags, std::uint32_t count, std::size_t each, bool usual_bits = false) {
  ByteVector out = {static_cast<std::byte>(flags)};
  if (usual_bits) out.push_back(std::byte{0xff});
  put_varint(out, count);
  out.resize(out.size() + count * each);
  return out;
}

struct Image {
  Coefficients coefficients;
  ByteVector restore;
};

Image image_of(const JpegKind& kind) {
  Image out;
  REQUIRE(take_apart(out.coefficients, out.restore, make_jpeg(kind)) == Unfit::none);
  return out;
}

std::string refusal(const Coefficients& coefficients, const ByteVector& restore) {
  ByteVector file;
  const auto fault = put_together(file, coefficients, restore);
  return fault ? fault->reason : "";
}

}  // namespace

TEST_CASE("blocks beyond the edge are no more than the image has room for") {
  const Image image = image_of({.width = 40, .height = 30});
  for (int c = 0; c < 3; ++c) {
    const std::size_t most = most_edges(image.coefficients.geometry.component[c]);
    CHECK(most < 100);
    const auto count = static_cast<std::uint32_t>(most);
    CHECK(refusal(image.coefficients, bomb(1 << c, count, 2)) == "");
    CHECK(refusal(image.coefficients, bomb(1 << c, count + 1, 2)).find("has room for") !=
          std::string::npos);
  }
  const Image gray = image_of({.space = JpegKind::Space::gray});
  CHECK(refusal(gray.coefficients, bomb(2, 1, 2)).find("room for 0") != std::string::npos);
}

TEST_CASE("every sampling has room for the blocks beyond its edges") {
  Random random({.seed = 5}, 0);
  for (int i = 0; i < 300; ++i) {
    const JpegKind kind = random_kind(random, 70);
    const Geometry geometry = image_of(kind).coefficients.geometry;
    for (int c = 0; c < geometry.components; ++c) {
      CAPTURE(describe(kind));
      const Component& component = geometry.component[c];
      const int max_h = std::max(kind.h[0], kind.h[1]), max_v = std::max(kind.v[0], kind.v[1]);
      const int mcus_x = (kind.width + 8 * max_h - 1) / (8 * max_h);
      const int mcus_y = (kind.height + 8 * max_v - 1) / (8 * max_v);
      CHECK(mcus_x * kind.h[c] * mcus_y * kind.v[c] - component.blocks_x * component.blocks_y <=
            static_cast<int>(most_edges(component)));
    }
  }
}

TEST_CASE("restore data with more scans than a file may have are refused") {
  const Image image = image_of({});
  for (const int flags : {2 << kMaxComponents, 4 << kMaxComponents}) {  // runs, tails
    CHECK(refusal(image.coefficients, bomb(flags, 500, 2)) == "");
    CHECK(refusal(image.coefficients, bomb(flags, 501, 2)).find("500 are allowed") !=
          std::string::npos);
  }
}

TEST_CASE("lists of padding and runs are not expanded in memory") {
  const Image image = image_of({});
  Restore restore;
  const ByteVector padding = bomb(1 << kMaxComponents, 100'000, 2, true);
  REQUIRE_FALSE(read_restore(restore, padding, image.coefficients.geometry, 500));
  CHECK(restore.padding.coded.count == 100'000);
  CHECK(restore.padding.odd.capacity() == 0);
  ByteVector again;
  write_restore(again, restore);
  CHECK(again == padding);

  ByteVector runs = bomb(2 << kMaxComponents, 1, 1);
  put_varint(runs, 100'000);
  runs.resize(runs.size() + 100'000);
  REQUIRE_FALSE(read_restore(restore, runs, image.coefficients.geometry, 500));
  REQUIRE(restore.odd_runs.size() == 1);
  CHECK(restore.odd_runs[0].coded.count == 100'000);
  CHECK(restore.odd_runs[0].ends.capacity() == 0);
  again.clear();
  write_restore(again, restore);
  CHECK(again == runs);
}

TEST_CASE("a record of more pixels than are allowed is not restored, nor one of longer data") {
  const ByteVector file = make_jpeg({.width = 40, .height = 30});
  ByteVector record, restore, again;
  Transcoder transcoder;
  REQUIRE(transcoder.transcode(record, restore, file, builtin_tables(), {.max_growth = 10}) ==
          Unfit::none);
  Decoder decoder;
  const auto code = [&](const JpegLimits& limits) {
    Coefficients image;
    auto fault = decode_within(image, record, builtin_tables(), decoder, limits);
    if (!fault) fault = restore_from(again, image, restore, limits);
    return fault ? fault->code : ErrorCode::none;
  };
  CHECK(code({.max_pixels = 40 * 30}) == ErrorCode::none);
  CHECK(again == file);
  CHECK(code({.max_pixels = 40 * 30 - 1}) == ErrorCode::image_too_large);
  CHECK(code({.max_bytes = 100}) == ErrorCode::image_too_large);
  store(record.data() + 3, std::uint32_t{0xffffffff});  // 65,535 x 65,535 pixels
  CHECK(code({}) == ErrorCode::image_too_large);
}

}  // namespace tundish::lanes
