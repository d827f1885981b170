#include "codec/lanes/jpeg_encode.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

// jpeglib.h requires size_t and FILE to be declared first.
#include <jpeglib.h>

#include "base/testing.h"
#include "codec/lanes/jpeg_file.h"
#include "codec/lanes/transcode.h"

namespace tundish::lanes {
namespace {

using ByteVector = std::vector<std::byte>;

// Reference implementation: libjpeg itself, called as in Pillow.
ByteVector encode_by_libjpeg(const std::vector<std::uint8_t>& rgb, Size size,
                             const JpegSettings& settings) {
  const bool gray = settings.sampling == Sampling::gray;
  jpeg_compress_struct info = {};
  jpeg_error_mgr errors = {};
  info.err = jpeg_std_error(&errors);
  errors.error_exit = [](j_common_ptr) { std::abort(); };
  jpeg_create_compress(&info);
  unsigned char* memory = nullptr;
  unsigned long bytes = 0;
  jpeg_mem_dest(&info, &memory, &bytes);
  info.image_width = static_cast<JDIMENSION>(size.width);
  info.image_height = static_cast<JDIMENSION>(size.height);
  info.in_color_space = gray ? JCS_GRAYSCALE : JCS_RGB;
  info.input_components = gray ? 1 : 3;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, settings.quality, TRUE);
  if (!gray) {
    info.comp_info[0].h_samp_factor = settings.sampling == Sampling::full ? 1 : 2;
    info.comp_info[0].v_samp_factor = settings.sampling == Sampling::half_both ? 2 : 1;
  }
  jpeg_start_compress(&info, TRUE);
  const auto width = static_cast<std::size_t>(size.width);
  std::vector<std::uint8_t> row(3 * width);
  for (std::size_t y = 0; y < static_cast<std::size_t>(size.height); ++y) {
    for (std::size_t i = 0; i < (gray ? width : 3 * width); ++i) {
      row[i] = rgb[y * 3 * width + (gray ? 3 * i : i)];
    }
    JSAMPROW pointer = row.data();
    jpeg_write_scanlines(&info, &pointer, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  const auto* begin = reinterpret_cast<const std::byte*>(memory);
  ByteVector out(begin, begin + bytes);
  std::free(memory);
  return out;
}

// Returns noise of any strength on a slope, sometimes only black and white for the largest possible
// coefficients.
std::vector<std::uint8_t> random_pixels(Random& random, Size size) {
  std::vector<std::uint8_t> out(static_cast<std::size_t>(3 * size.width * size.height));
  const bool extreme = random.below(4) == 0;
  const std::uint64_t noise = 1 + random.below(200);
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] =
        static_cast<std::uint8_t>(extreme ? 255 * random.below(2) : i / 5 + random.below(noise));
  }
  return out;
}

}  // namespace

TEST_CASE("jpeg_encode: every file is libjpeg's, byte for byte") {
  Random random({.seed = test_seed()}, 0);
  JpegEncoder encoder;
  Coefficients coefficients, from_file;
  ByteVector restore, restore_from_file, file;
  constexpr Sampling kAll[] = {Sampling::gray, Sampling::full, Sampling::half_wide,
                               Sampling::half_both};
  for (int round = 0; round < 400; ++round) {
    const Size size{1 + static_cast<int>(random.below(70)), 1 + static_cast<int>(random.below(70))};
    const JpegSettings settings{.quality = 1 + static_cast<int>(random.below(100)),
                                .sampling = kAll[random.below(4)]};
    CAPTURE(fmt::format("{} x {}, quality {}, sampling {}", size.width, size.height,
                        settings.quality, static_cast<int>(settings.sampling)));
    const std::vector<std::uint8_t> rgb = random_pixels(random, size);
    const ByteVector expected = encode_by_libjpeg(rgb, size, settings);
    encoder.encode(coefficients, restore, rgb.data(), size, settings);
    REQUIRE(take_apart(from_file, restore_from_file, expected) == Unfit::none);
    for (int c = 0; c < kMaxComponents; ++c) CHECK(coefficients.blocks[c] == from_file.blocks[c]);
    REQUIRE_FALSE(put_together(file, coefficients, restore));
    CHECK(file == expected);
  }
}

TEST_CASE("jpeg_encode: a record made of coefficients is the record of the file") {
  Random random({.seed = test_seed()}, 1);
  JpegEncoder encoder;
  Transcoder transcoder;
  Coefficients coefficients;
  ByteVector restore, record, stored, record_of_file, stored_of_file, file, again;
  for (int round = 0; round < 20; ++round) {
    const Size size{1 + static_cast<int>(random.below(300)),
                    1 + static_cast<int>(random.below(99))};
    const std::vector<std::uint8_t> rgb = random_pixels(random, size);
    encoder.encode(coefficients, restore, rgb.data(), size, {});
    REQUIRE_FALSE(put_together(file, coefficients, restore));
    REQUIRE(transcoder.transcode(record_of_file, stored_of_file, file, builtin_tables(),
                                 {.max_growth = 100}) == Unfit::none);
    REQUIRE(transcoder.encode(record, stored, coefficients, restore, builtin_tables()) ==
            Unfit::none);
    CHECK(record == record_of_file);
    REQUIRE_FALSE(restore_from(again, coefficients, stored));
    CHECK(again == file);
  }
}

}  // namespace tundish::lanes
