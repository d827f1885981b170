#include "augment/pixels/blur/jpeg_round_trip.h"

#include <algorithm>
#include <csetjmp>
#include <cstdio>

// jpeglib.h requires size_t and FILE to be declared first.
#include <jpeglib.h>

#include "codec/decode/jpeg.h"

namespace tundish {
namespace {

// libjpeg reports an error by longjmp. The functions that call libjpeg contain the setjmp and no
// object with a destructor.
struct Writer {
  jpeg_compress_struct info = {};
  jpeg_error_mgr errors = {};
  jpeg_destination_mgr destination = {};
  std::jmp_buf jump;

  Writer() = default;
  ~Writer() { jpeg_destroy_compress(&info); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
};

[[noreturn]] void on_error(j_common_ptr info) {
  std::longjmp(static_cast<Writer*>(info->client_data)->jump, 1);
}
void on_message(j_common_ptr, int) {}
void on_output(j_common_ptr) {}
void on_nothing(j_compress_ptr) {}
boolean on_full(j_compress_ptr info) { on_error(reinterpret_cast<j_common_ptr>(info)); }

// Upper bound of a coded 4:2:0 JPEG (libjpeg-turbo's bound).
std::size_t most_coded(Size size) {
  const auto whole = [](int side) { return (static_cast<std::size_t>(side) + 15) / 16 * 16; };
  return 3 * whole(size.width) * whole(size.height) + 2048;
}

bool encode(Writer& writer, std::uint8_t* rgb, Size size, int quality) {
  if (setjmp(writer.jump) != 0) return false;
  jpeg_compress_struct& info = writer.info;
  info.err = jpeg_std_error(&writer.errors);
  writer.errors.error_exit = on_error;
  writer.errors.emit_message = on_message;
  writer.errors.output_message = on_output;
  info.client_data = &writer;
  jpeg_create_compress(&info);
  info.dest = &writer.destination;
  info.image_width = static_cast<JDIMENSION>(size.width);
  info.image_height = static_cast<JDIMENSION>(size.height);
  info.input_components = 3;
  info.in_color_space = JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, quality, TRUE);
  info.dct_method = JDCT_ISLOW;
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    JSAMPROW row = rgb + std::size_t{3} * info.image_width * info.next_scanline;
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  return true;
}

// Writes decoded rows over the rows they were encoded from.
class Rows : public StripSink {
 public:
  Rows(std::uint8_t* rgb, Size size)
      : rgb_(rgb), row_(std::size_t{3} * static_cast<std::size_t>(size.width)) {}
  void push(const Strip& strip) override {
    for (int y = 0; y < strip.rows; ++y) {
      std::copy_n(strip.pixels + y * strip.stride, row_,
                  rgb_ + static_cast<std::size_t>(strip.y + y) * row_);
    }
  }

 private:
  std::uint8_t* rgb_;
  std::size_t row_;  // bytes per row
};

ImageHeader header_of(Size size) {
  return {.codec = Codec::jpeg,
          .width = static_cast<std::uint32_t>(size.width),
          .height = static_cast<std::uint32_t>(size.height)};
}

}  // namespace

void JpegRoundTrip::run(std::vector<std::uint8_t>& rgb, Size size, int quality) {
  if (coded_.size() < most_coded(size)) coded_.resize(most_coded(size));
  Writer writer;
  writer.destination = {.next_output_byte = coded_.data(),
                        .free_in_buffer = coded_.size(),
                        .init_destination = on_nothing,
                        .empty_output_buffer = on_full,
                        .term_destination = on_nothing};
  if (!encode(writer, rgb.data(), size, quality)) {
    throw Error(ErrorCode::no_memory, {}, "JPEG: no memory for the compression of an image");
  }
  const std::size_t used = coded_.size() - writer.destination.free_in_buffer;
  Rows rows(rgb.data(), size);
  const Window all{0, 0, size.width, size.height};
  const Bytes bytes = std::as_bytes(std::span(coded_).first(used));
  if (auto fault = decode_jpeg(rows, bytes, header_of(size), all, decode_, Limits{})) {
    throw Error(fault->code, {}, "JPEG: " + fault->reason);
  }
}

std::uint64_t JpegRoundTrip::bytes(Size size) {
  const std::uint64_t decoder = decode_bytes(header_of(size), {0, 0, size.width, size.height});
  return most_coded(size) + 2 * decoder;  // the encoder needs no more rows than the decoder
}

}  // namespace tundish
