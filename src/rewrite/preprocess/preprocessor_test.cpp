#include "rewrite/preprocess/preprocessor.h"

#include <doctest/doctest.h>

#include "codec/decode/test_images.h"
#include "codec/lanes/jpeg_file.h"
#include "rewrite/preprocess/encode_npy.h"
#include "rewrite/preprocess/encode_png.h"
#include "rewrite/preprocess/resizer.h"
#include "rewrite/preprocess/target.h"

namespace tundish {
namespace {

struct Run {
  Preprocessed outcome = Preprocessed::fits;
  NewImage image;
  std::optional<Fault> fault;
};

Run run(const PreprocessOptions& options, const ByteVector& file) {
  Run out;
  const auto step = make_preprocessor(options)->make_step();
  out.outcome = step->run(out.image, file, Limits{});
  out.fault = step->fault();
  return out;
}

// Returns the stored image as a file.
ByteVector file_of(const NewImage& image) {
  if (image.codec != Codec::jpeg) return image.bytes;
  ByteVector out;
  CHECK_FALSE(lanes::put_together(out, image.coefficients, image.restore));
  return out;
}

constexpr PreprocessOptions kHalf{.resize = ResizeTo::shortest, .side = 40};

PreprocessOptions with(Reencode reencode) {
  PreprocessOptions out = kHalf;
  out.reencode = reencode;
  return out;
}

// Reference implementation: decodes the whole image, then resizes it in memory.
std::vector<std::uint8_t> resized_reference(const ByteVector& file, Size size,
                                            const PreprocessOptions& options) {
  const std::vector<std::uint8_t> rgb = decode_window(file, {0, 0, size.width, size.height});
  const Target target = target_of(options, size);
  const View view = plan_view(target.transforms, size, {});
  const PixelTable table = pixel_table(Transforms{});
  std::vector<std::uint8_t> out(static_cast<std::size_t>(3 * view.size().width) *
                                static_cast<std::size_t>(view.size().height));
  PlanRunner runner;
  runner.begin(view, table,
               {.base = reinterpret_cast<std::byte*>(out.data()),
                .dy = std::ptrdiff_t{3} * view.size().width,
                .dx = 3,
                .dc = 1},
               CpuPart::all);
  runner.sink().push(whole_strip(rgb, size));
  runner.finish();
  return out;
}

}  // namespace

TEST_CASE("preprocessor: raw and PNG have the pixels of the resized image, from any source") {
  const ByteVector sources[] = {make_jpeg(120, 80, {}),
                                make_jpeg(120, 80, {.progressive = true}),
                                make_jpeg(120, 80, {.color = JpegColor::cmyk}),
                                make_jpeg(120, 80, {.color = JpegColor::gray}),
                                make_png(120, 80, 8, 2, false),
                                make_png(120, 80, 16, 2, true),
                                make_png(120, 80, 8, 3, false, 1, 200)};
  for (const Filter filter : {Filter::bilinear, Filter::bicubic}) {
    for (const Reencode reencode : {Reencode::raw, Reencode::png}) {
      for (const ByteVector& source : sources) {
        PreprocessOptions options = with(reencode);
        options.interpolation = filter;
        options.center_crop = {50, 40};
        const Run made = run(options, source);
        REQUIRE(made.outcome == Preprocessed::changed);
        CHECK((made.image.size == Size{50, 40}));
        CHECK(decode_window(made.image.bytes, {0, 0, 50, 40}) ==
              resized_reference(source, {120, 80}, options));
      }
    }
  }
}

TEST_CASE("preprocessor: by default a JPEG stays a JPEG, an array an array, others become PNG") {
  CHECK(run(kHalf, make_jpeg(120, 80, {})).image.codec == Codec::jpeg);
  CHECK(run(kHalf, make_png(120, 80, 8, 2, false)).image.codec == Codec::png);
  CHECK(run(kHalf, make_npy("{'descr': '|u1', 'fortran_order': False, 'shape': (80, 120, 3), }",
                            80 * 120 * 3))
            .image.codec == Codec::npy);
  CHECK(run(with(Reencode::jpeg), make_png(120, 80, 8, 2, false)).image.codec == Codec::jpeg);
}

TEST_CASE("preprocessor: gray images are stored with one channel") {
  const ByteVector gray = make_jpeg(120, 80, {.color = JpegColor::gray});
  const Run jpeg = run(kHalf, gray);
  CHECK(jpeg.image.coefficients.geometry.components == 1);
  CHECK(run(with(Reencode::raw), gray).image.bytes.size() == 128 + 60 * 40);
  CHECK(run(kHalf, make_jpeg(120, 80, {})).image.coefficients.geometry.components == 3);
}

TEST_CASE("preprocessor: what is kept, and why") {
  CHECK(run(kHalf, make_jpeg(60, 40, {})).outcome == Preprocessed::fits);
  CHECK(run(kHalf, make_jpeg(60, 39, {})).outcome == Preprocessed::smaller);
  CHECK(run(kHalf, make_png(120, 80, 16, 0, false)).outcome == Preprocessed::deep);
  CHECK(run(kHalf, make_png(120, 80, 8, 6, false)).outcome == Preprocessed::transparent);
  CHECK(run(kHalf, make_png(120, 80, 8, 4, false)).outcome == Preprocessed::transparent);
  CHECK(run(kHalf, bytes_of(std::string(
                       "II*\0\x08\0\0\0 a TIFF file, which is known and not decoded", 50)))
            .outcome == Preprocessed::not_decodable);
  ByteVector cut_off = make_png(120, 80, 8, 2, false);
  cut_off.resize(cut_off.size() / 2);
  const Run damaged = run(kHalf, cut_off);
  CHECK(damaged.outcome == Preprocessed::damaged);
  REQUIRE(damaged.fault);
  CHECK(damaged.fault->code == fault_of(cut_off));
}

TEST_CASE("preprocessor: an image that keeps its size is encoded again where nothing is lost") {
  const ByteVector jpeg = make_jpeg(60, 40, {});
  CHECK(run(with(Reencode::png), jpeg).outcome == Preprocessed::changed);
  CHECK(run(with(Reencode::raw), make_jpeg(30, 20, {})).image.size == Size{30, 20});
  CHECK(run(with(Reencode::jpeg), jpeg).outcome == Preprocessed::fits);
  CHECK(run({.reencode = Reencode::jpeg, .quality = 30}, jpeg).outcome == Preprocessed::changed);
  CHECK(run({.reencode = Reencode::png}, make_png(60, 40, 8, 2, false)).outcome ==
        Preprocessed::fits);
}

TEST_CASE("preprocessor: raw replaces a smaller original, JPEG and PNG do not") {
  const ByteVector source = make_jpeg(120, 80, {});
  CHECK_FALSE(run(with(Reencode::raw), source).image.keep_smaller_original);
  CHECK(run(with(Reencode::png), source).image.keep_smaller_original);
  CHECK(run(with(Reencode::jpeg), source).image.keep_smaller_original);
  PreprocessOptions options = with(Reencode::jpeg);
  options.if_larger = PreprocessOptions::IfLarger::replace;
  CHECK_FALSE(run(options, source).image.keep_smaller_original);
}

TEST_CASE("preprocessor: an image that EXIF turns stays, or becomes upright before it is resized") {
  // Little-endian TIFF with one entry: orientation 6, a quarter turn to the right.
  constexpr std::string_view kTurned{
      "II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0", 26};
  const ByteVector source = make_jpeg(120, 80, {.exif = kTurned});
  CHECK(run(with(Reencode::raw), source).outcome == Preprocessed::turned);
  PreprocessOptions options = with(Reencode::raw);
  options.apply_orientation = true;
  const Run made = run(options, source);
  REQUIRE(made.outcome == Preprocessed::changed);
  CHECK((made.image.size == Size{40, 60}));
  // A rotated image that needs no resize is still made upright.
  options.side = 80;
  const Run turned = run(options, source);
  REQUIRE(turned.outcome == Preprocessed::changed);
  const std::vector<std::uint8_t> before = decode_window(source, {0, 0, 120, 80});
  const std::vector<std::uint8_t> after = decode_window(turned.image.bytes, {0, 0, 80, 120});
  for (std::size_t y = 0; y < 120; ++y) {
    for (std::size_t x = 0; x < 80; ++x) {
      // Upright (x, y) was stored at column y of the row 79 - x.
      REQUIRE(after[(y * 80 + x) * 3] == before[((79 - x) * 120 + y) * 3]);
    }
  }
}

TEST_CASE("preprocessor: any bytes give an outcome") {
  ByteVector file = make_jpeg(120, 80, {});
  for (std::size_t at = 0; at < file.size(); at += 7) {
    ByteVector bad = file;
    bad[at] ^= std::byte{0x55};
    const Run made = run(kHalf, bad);
    if (made.outcome == Preprocessed::changed) CHECK_FALSE(file_of(made.image).empty());
    CHECK(made.fault.has_value() ==
          (made.outcome == Preprocessed::damaged || made.outcome == Preprocessed::not_decodable));
  }
}

}  // namespace tundish
