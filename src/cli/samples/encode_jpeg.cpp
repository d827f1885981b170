#include "cli/samples/encode_jpeg.h"

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <new>

// jpeglib.h needs size_t and FILE declared first.
#include <jpeglib.h>

namespace tundish::cli {
namespace {

struct Encoder {
  jpeg_compress_struct info = {};
  jpeg_error_mgr errors = {};
  std::jmp_buf jump;
  unsigned char* out = nullptr;
  unsigned long size = 0;

  Encoder() = default;
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;
  ~Encoder() {
    jpeg_destroy_compress(&info);
    std::free(out);
  }
};

// libjpeg reports errors by longjmp, so no local variable may have a destructor.
bool encode(Encoder& encoder, const std::uint8_t* rows, Size size, const JpegCoding& coding) {
  if (setjmp(encoder.jump) != 0) return false;
  jpeg_compress_struct& info = encoder.info;
  info.err = jpeg_std_error(&encoder.errors);
  encoder.errors.error_exit = [](j_common_ptr common) {
    std::longjmp(static_cast<Encoder*>(common->client_data)->jump, 1);
  };
  encoder.errors.emit_message = [](j_common_ptr, int) {};
  info.client_data = &encoder;
  jpeg_create_compress(&info);
  jpeg_mem_dest(&info, &encoder.out, &encoder.size);
  info.image_width = static_cast<JDIMENSION>(size.width);
  info.image_height = static_cast<JDIMENSION>(size.height);
  info.in_color_space = JCS_RGB;
  info.input_components = 3;
  jpeg_set_defaults(&info);
  if (coding.gray) {
    jpeg_set_colorspace(&info, JCS_GRAYSCALE);
  } else {
    info.comp_info[0].h_samp_factor = coding.h;
    info.comp_info[0].v_samp_factor = coding.v;
  }
  jpeg_set_quality(&info, coding.quality, TRUE);
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    // libjpeg takes non-const pointers for rows that it only reads.
    auto* row = const_cast<JSAMPROW>(rows + std::size_t{info.next_scanline} * info.image_width * 3);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  return true;
}

}  // namespace

std::vector<std::byte> encode_jpeg(std::span<const std::uint8_t> rgb, Size size,
                                   const JpegCoding& coding) {
  Encoder encoder;
  if (!encode(encoder, rgb.data(), size, coding)) throw std::bad_alloc();
  const auto* begin = reinterpret_cast<const std::byte*>(encoder.out);
  return {begin, begin + encoder.size};
}

}  // namespace tundish::cli
