// Compares the pixels of lanes with libjpeg's: equal coefficients must produce equal bytes.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/testing.h"
#include "codec/lanes/decode_reference.h"
#include "codec/lanes/idct.h"
#include "codec/lanes/jpeg_file.h"
#include "codec/lanes/jpeg_maker.h"
#include "codec/lanes/testing.h"

// jpeglib.h requires size_t and FILE to be declared first.
#include <jpeglib.h>

namespace tundish::lanes {
namespace {

void open_jpeg(jpeg_decompress_struct& info, jpeg_error_mgr& errors, const ByteVector& bytes) {
  info.err = jpeg_std_error(&errors);
  errors.emit_message = [](j_common_ptr, int) {};
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  jpeg_read_header(&info, TRUE);
}

std::vector<std::uint8_t> decode_by_libjpeg(const ByteVector& bytes) {
  jpeg_decompress_struct info = {};
  jpeg_error_mgr errors = {};
  open_jpeg(info, errors, bytes);
  info.out_color_space = JCS_RGB;
  jpeg_start_decompress(&info);
  const std::size_t stride = std::size_t{info.output_width} * 3;
  std::vector<std::uint8_t> pixels(stride * info.output_height);
  while (info.output_scanline < info.output_height) {
    JSAMPROW row = pixels.data() + info.output_scanline * stride;
    jpeg_read_scanlines(&info, &row, 1);
  }
  jpeg_destroy_decompress(&info);
  return pixels;
}

// Writes a JPEG file of any coefficients that Huffman codes can represent.
ByteVector write_coefficients(const Coefficients& image) {
  const Geometry& geometry = image.geometry;
  jpeg_compress_struct info = {};
  jpeg_error_mgr errors = {};
  info.err = jpeg_std_error(&errors);
  errors.error_exit = [](j_common_ptr) { std::abort(); };
  errors.emit_message = [](j_common_ptr, int) {};  // for quantizers above 255
  jpeg_create_compress(&info);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &memory, &size);
  info.image_width = static_cast<JDIMENSION>(geometry.width);
  info.image_height = static_cast<JDIMENSION>(geometry.height);
  info.in_color_space = geometry.components == 1 ? JCS_GRAYSCALE : JCS_RGB;
  info.input_components = geometry.components;
  jpeg_set_defaults(&info);
  jpeg_set_colorspace(&info, geometry.components == 1    ? JCS_GRAYSCALE
                             : image.color == Color::rgb ? JCS_RGB
                                                         : JCS_YCbCr);
  info.optimize_coding = TRUE;
  jvirt_barray_ptr arrays[kMaxComponents];
  for (int c = 0; c < geometry.components; ++c) {
    const Component& component = geometry.component[c];
    unsigned table[64];
    std::copy(image.quantization[c].begin(), image.quantization[c].end(), table);
    jpeg_add_quant_table(&info, c, table, 100, FALSE);
    info.comp_info[c].quant_tbl_no = c;
    info.comp_info[c].h_samp_factor = component.h;
    info.comp_info[c].v_samp_factor = component.v;
    const auto up = [](int a, int b) { return static_cast<JDIMENSION>((a + b - 1) / b * b); };
    arrays[c] = info.mem->request_virt_barray(
        reinterpret_cast<j_common_ptr>(&info), JPOOL_IMAGE, TRUE, up(component.blocks_x, 4),
        up(component.blocks_y, 4), static_cast<JDIMENSION>(component.v));
  }
  jpeg_write_coefficients(&info, arrays);
  for (int c = 0; c < geometry.components; ++c) {
    const Block* from = image.blocks[c].data();
    for (int y = 0; y < geometry.component[c].blocks_y; ++y) {
      JBLOCKARRAY row = info.mem->access_virt_barray(
          reinterpret_cast<j_common_ptr>(&info), arrays[c], static_cast<JDIMENSION>(y), 1, TRUE);
      for (int x = 0; x < geometry.component[c].blocks_x; ++x, ++from) {
        std::copy(from->begin(), from->end(), row[0][x]);
      }
    }
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  const auto* begin = reinterpret_cast<const std::byte*>(memory);
  ByteVector out(begin, begin + size);
  std::free(memory);
  return out;
}

}  // namespace

TEST_CASE("any window of a JPEG is the window of libjpeg's whole decode") {
  const std::uint64_t seed = test_seed();
  CAPTURE(seed);
  Random random({.seed = seed}, 0);
  Renderer renderer;
  Coefficients image;
  ByteVector restore;
  for (int round = 0; round < 340 / one_in(4); ++round) {
    const JpegKind kind = random_kind(random, round % 4 == 0 ? 20 : 300);
    const ByteVector jpeg = make_jpeg(kind);
    INFO("round ", round, ": ", describe(kind));
    REQUIRE(take_apart(image, restore, jpeg) == Unfit::none);
    REQUIRE(is_exact(image));
    const std::vector<std::uint8_t> whole = decode_by_libjpeg(jpeg);
    REQUIRE(decode_reference(image) == whole);
    for (int i = 0; i < 30; ++i) {
      const Window window = random_window(random, kind.width, kind.height);
      CAPTURE(window.x);
      CAPTURE(window.y);
      CAPTURE(window.width);
      CAPTURE(window.height);
      REQUIRE(render_window(renderer, image, window) == cut_out(whole, kind.width, window));
    }
  }
}

TEST_CASE("what is_exact() accepts is libjpeg's, and most of what it refuses is not") {
  const std::uint64_t seed = test_seed();
  CAPTURE(seed);
  Random random({.seed = seed}, 0);
  int accepted = 0, refused = 0, refused_and_equal = 0;
  for (int round = 0; round < 400; ++round) {
    Coefficients image = random_coefficients(random, 64, 64, Sampling::gray, true);
    const int bits = between(random, 8, 16);
    for (std::uint16_t& q : image.quantization[0]) {
      q = static_cast<std::uint16_t>(1 + random.below((std::uint64_t{1} << bits) / 16));
    }
    const int bound = between(random, 1, 1023);
    for (Block& block : image.blocks[0]) {
      block = random_block(random, static_cast<Texture>(random.below(4)));
      for (std::int16_t& value : block) {
        value = static_cast<std::int16_t>(std::clamp<int>(value, -bound, bound));
      }
    }
    const std::vector<std::uint8_t> libjpeg = decode_by_libjpeg(write_coefficients(image));
    const std::vector<std::uint8_t> ours = decode_reference(image);
    for (std::size_t b = 0; b < 64; ++b) {
      const Window window = {static_cast<int>(b % 8) * 8, static_cast<int>(b / 8) * 8, 8, 8};
      const bool equal = cut_out(ours, 64, window) == cut_out(libjpeg, 64, window);
      if (is_exact(image.blocks[0][b], image.quantization[0])) {
        ++accepted;
        CAPTURE(round);
        CAPTURE(b);
        REQUIRE(equal);
      } else {
        ++refused;
        refused_and_equal += equal ? 1 : 0;
      }
    }
  }
  CHECK(accepted > 1000);
  CHECK(refused > 1000);
  CHECK(refused_and_equal < refused / 2);  // mostly black and white
}

}  // namespace tundish::lanes
