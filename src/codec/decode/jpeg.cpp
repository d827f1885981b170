#include "codec/decode/jpeg.h"

#include <fmt/format.h>

#include <algorithm>
#include <csetjmp>
#include <cstdio>

// jpeglib.h requires size_t and FILE to be declared first.
#include <jerror.h>
#include <jpeglib.h>

namespace tundish {
namespace {

// libjpeg reports errors by longjmp. Every library call is in a function below that has the setjmp
// and no object with a destructor; Reader itself is in the caller's frame.
struct Reader {
  jpeg_decompress_struct info = {};
  jpeg_error_mgr errors = {};
  jpeg_source_mgr source = {};
  jpeg_progress_mgr progress = {};
  std::jmp_buf jump;
  Bytes bytes;
  std::uint32_t max_scans = 0;
  ErrorCode code = ErrorCode::none;
  char reason[JMSG_LENGTH_MAX] = {};

  Reader(Bytes coded, std::uint32_t scans) : bytes(coded), max_scans(scans) {}
  ~Reader() { jpeg_destroy_decompress(&info); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  Fault fault() const { return {code, reason, bytes.size() - source.bytes_in_buffer}; }
};

Reader& reader_of(j_common_ptr info) { return *static_cast<Reader*>(info->client_data); }

[[noreturn]] void fail(Reader& reader, ErrorCode code, const char* reason) {
  reader.code = code;
  std::snprintf(reader.reason, sizeof reader.reason, "%s", reason);
  std::longjmp(reader.jump, 1);
}

[[noreturn]] void on_error(j_common_ptr info) {
  Reader& reader = reader_of(info);
  switch (info->err->msg_code) {
    case JERR_OUT_OF_MEMORY:
      reader.code = ErrorCode::no_memory;
      break;
    case JERR_ARITH_NOTIMPL:
    case JERR_BAD_PRECISION:
    case JERR_CCIR601_NOTIMPL:
    case JERR_CONVERSION_NOTIMPL:
    case JERR_FRACT_SAMPLE_NOTIMPL:
    case JERR_SOF_UNSUPPORTED:
      reader.code = ErrorCode::codec_unsupported;
      break;
    default:
      reader.code = ErrorCode::image_damaged;
  }
  info->err->format_message(info, reader.reason);
  std::longjmp(reader.jump, 1);
}

// Warnings are counted and ignored: Pillow shows such images too.
void on_message(j_common_ptr info, int level) {
  if (level < 0) ++info->err->num_warnings;
}
void on_output(j_common_ptr) {}

void on_source_nothing(j_decompress_ptr) {}

// All bytes were supplied at the start, so a request for more means that the file is cut off.
boolean on_source_end(j_decompress_ptr info) {
  fail(reader_of(reinterpret_cast<j_common_ptr>(info)), ErrorCode::image_cut_off,
       "the data end before the last row");
}

void on_source_skip(j_decompress_ptr info, long count) {
  if (count <= 0) return;
  if (static_cast<std::size_t>(count) > info->src->bytes_in_buffer) on_source_end(info);
  info->src->next_input_byte += count;
  info->src->bytes_in_buffer -= static_cast<std::size_t>(count);
}

// A small file may hold thousands of scans over a large image; stops before decoding takes hours.
void on_progress(j_common_ptr info) {
  Reader& reader = reader_of(info);
  if (static_cast<std::uint32_t>(reader.info.input_scan_number) <= reader.max_scans) return;
  std::snprintf(reader.reason, sizeof reader.reason, "more than %u scans", reader.max_scans);
  reader.code = ErrorCode::image_too_large;
  std::longjmp(reader.jump, 1);
}

bool open(Reader& reader) {
  if (setjmp(reader.jump) != 0) return false;
  jpeg_decompress_struct& info = reader.info;
  info.err = jpeg_std_error(&reader.errors);
  reader.errors.error_exit = on_error;
  reader.errors.emit_message = on_message;
  reader.errors.output_message = on_output;
  info.client_data = &reader;
  jpeg_create_decompress(&info);
  reader.source = {.next_input_byte = reinterpret_cast<const JOCTET*>(reader.bytes.data()),
                   .bytes_in_buffer = reader.bytes.size(),
                   .init_source = on_source_nothing,
                   .fill_input_buffer = on_source_end,
                   .skip_input_data = on_source_skip,
                   .resync_to_restart = jpeg_resync_to_restart,
                   .term_source = on_source_nothing};
  info.src = &reader.source;
  reader.progress.progress_monitor = on_progress;
  info.progress = &reader.progress;
  jpeg_read_header(&info, TRUE);
  return true;
}

bool start(Reader& reader, unsigned reduction) {
  if (setjmp(reader.jump) != 0) return false;
  reader.info.scale_num = 1;
  reader.info.scale_denom = reduction;
  reader.info.out_color_space = reader.info.num_components == 4 ? JCS_CMYK : JCS_RGB;
  reader.info.dct_method = JDCT_ISLOW;
  reader.info.do_fancy_upsampling = TRUE;
  jpeg_start_decompress(&reader.info);
  return true;
}

// True if only a full decode is exact. libjpeg smooths a progressive image that lacks some scans,
// using blocks two rows and columns away. Images of reduced size are also decoded as a whole, which
// takes little time anyway.
bool is_decoded_whole(const jpeg_decompress_struct& info) {
  if (info.scale_denom != 1) return true;
  if (info.coef_bits == nullptr) return false;
  for (int c = 0; c < info.num_components; ++c) {
    for (int i = 1; i <= 9; ++i) {
      if (info.coef_bits[c][i] != 0) return true;
    }
  }
  return false;
}

// Smooth upsampling reads one sample to either side, so the outermost columns of a cropped row are
// wrong: two extra samples on both sides make the others exact.
JDIMENSION margin_of(const jpeg_decompress_struct& info) {
  int pixels = 0;
  for (int c = 0; c < info.num_components; ++c) {
    if (info.comp_info[c].h_samp_factor != info.max_h_samp_factor) {
      pixels = 2 * info.max_h_samp_factor;
    }
  }
  return static_cast<JDIMENSION>(pixels);
}

// Seeks columns first, then rows. Moves x left and grows width to whole blocks.
bool seek(Reader& reader, JDIMENSION& x, JDIMENSION& width, JDIMENSION rows) {
  if (setjmp(reader.jump) != 0) return false;
  if (width < reader.info.output_width) jpeg_crop_scanline(&reader.info, &x, &width);
  if (rows > 0) jpeg_skip_scanlines(&reader.info, rows);
  return true;
}

bool read_rows(Reader& reader, JSAMPARRAY rows, JDIMENSION count) {
  if (setjmp(reader.jump) != 0) return false;
  const JDIMENSION end = reader.info.output_scanline + count;
  while (reader.info.output_scanline < end) {
    const JDIMENSION left = end - reader.info.output_scanline;
    jpeg_read_scanlines(&reader.info, rows + (count - left), left);
  }
  return true;
}

// Data after the last row must also be readable. Otherwise a byte inside the data became a marker
// and rows are made up; Pillow refuses such a file. A missing end marker is accepted.
bool finish(Reader& reader) {
  if (setjmp(reader.jump) != 0) return reader.code == ErrorCode::image_cut_off;
  jpeg_finish_decompress(&reader.info);
  return true;
}

// Converts in place. The file holds inverted inks (Adobe's convention, which Pillow assumes). Like
// Pillow, computes ink over black as nk - c * nk / 255, with Pillow's rounding.
void cmyk_to_rgb(std::uint8_t* pixels, std::size_t count) {
  const auto mul_div_255 = [](int a, int b) {
    const int product = a * b + 128;
    return ((product >> 8) + product) >> 8;
  };
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint8_t* from = pixels + 4 * i;
    const int not_black = from[3];
    const int inks[3] = {255 - from[0], 255 - from[1], 255 - from[2]};
    for (std::size_t c = 0; c < 3; ++c) {
      pixels[3 * i + c] =
          static_cast<std::uint8_t>(std::max(0, not_black - mul_div_255(inks[c], not_black)));
    }
  }
}

}  // namespace

std::optional<Fault> decode_jpeg(StripSink& sink, Bytes bytes, const ImageHeader& header,
                                 Window window, DecodeScratch& scratch, const Limits& limits) {
  Reader reader(bytes, limits.max_scans);
  if (!open(reader)) return reader.fault();
  const jpeg_decompress_struct& info = reader.info;
  const std::uint32_t reduction = header.reduction;
  const Size size{static_cast<int>((info.image_width + reduction - 1) / reduction),
                  static_cast<int>((info.image_height + reduction - 1) / reduction)};
  if (size != Size{static_cast<int>(header.width), static_cast<int>(header.height)}) {
    return Fault{ErrorCode::image_header,
                 fmt::format("{} x {} pixels where {} x {} were expected", size.width, size.height,
                             header.width, header.height)};
  }
  if (!start(reader, reduction)) return reader.fault();

  const bool whole = is_decoded_whole(info);
  const JDIMENSION margin = margin_of(info);
  const auto left = static_cast<JDIMENSION>(window.x);
  const JDIMENSION right = left + static_cast<JDIMENSION>(window.width);
  JDIMENSION x = whole || left < margin ? 0 : left - margin;
  JDIMENSION width = (whole ? info.output_width : std::min(right + margin, info.output_width)) - x;
  const int above = whole ? window.y : 0;  // rows to decode and discard
  if (!seek(reader, x, width, static_cast<JDIMENSION>(window.y - above))) return reader.fault();

  const auto samples = static_cast<std::size_t>(info.output_components);
  const std::size_t stride = std::size_t{width} * samples;
  if (scratch.rows.size() < stride * kRowsPerStrip) scratch.rows.resize(stride * kRowsPerStrip);
  JSAMPROW rows[kRowsPerStrip];
  for (std::size_t i = 0; i < kRowsPerStrip; ++i) rows[i] = scratch.rows.data() + i * stride;

  for (int y = 0; y < above; ++y) {
    if (!read_rows(reader, rows, 1)) return reader.fault();
  }
  for (int done = 0; done < window.height;) {
    const int count = std::min(kRowsPerStrip, window.height - done);
    if (!read_rows(reader, rows, static_cast<JDIMENSION>(count))) return reader.fault();
    if (samples == 4) {
      for (int i = 0; i < count; ++i) cmyk_to_rgb(rows[i], width);
    }
    sink.push({.pixels = rows[0] + std::size_t{left - x} * 3,
               .stride = static_cast<std::ptrdiff_t>(stride),
               .x = window.x,
               .y = window.y + done,
               .width = window.width,
               .rows = count});
    done += count;
  }
  if (info.output_scanline == info.output_height && !finish(reader)) return reader.fault();
  return std::nullopt;
}

}  // namespace tundish
