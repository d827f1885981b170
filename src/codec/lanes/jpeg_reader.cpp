#include "codec/lanes/jpeg_reader.h"

namespace tundish::lanes {

// libjpeg reports errors by longjmp. The functions below that call the library have the setjmp
// and no object with a destructor.

JpegReader::JpegReader(Bytes file, std::uint32_t max_scans) : file_(file), max_scans_(max_scans) {}

JpegReader::~JpegReader() { jpeg_destroy_decompress(&info_); }

JpegReader& JpegReader::self(j_common_ptr info) {
  return *static_cast<JpegReader*>(info->client_data);
}

void JpegReader::leave(Unfit unfit) {
  unfit_ = unfit;
  std::longjmp(jump_, 1);
}

void JpegReader::on_error(j_common_ptr info) { self(info).leave(Unfit::corrupt); }

// After a warning, the coefficients are guesses.
void JpegReader::on_message(j_common_ptr info, int level) {
  if (level < 0) self(info).leave(Unfit::corrupt);
}

// Limits the scans: a small file may hold thousands of scans over a large image.
void JpegReader::on_progress(j_common_ptr info) {
  JpegReader& reader = self(info);
  if (static_cast<std::uint32_t>(reader.info_.input_scan_number) > reader.max_scans_) {
    reader.leave(Unfit::too_large);
  }
}

// Supplies an end marker to a file without one. Truncated data reach the marker too early, and the
// library warns.
boolean JpegReader::on_source_end(j_decompress_ptr info) {
  static constexpr JOCTET kEnd[] = {0xff, JPEG_EOI};
  info->src->next_input_byte = kEnd;
  info->src->bytes_in_buffer = sizeof kEnd;
  return TRUE;
}

void JpegReader::on_source_skip(j_decompress_ptr info, long count) {
  if (count <= 0) return;
  if (static_cast<std::size_t>(count) > info->src->bytes_in_buffer) {
    self(reinterpret_cast<j_common_ptr>(info)).leave(Unfit::corrupt);
  }
  info->src->next_input_byte += count;
  info->src->bytes_in_buffer -= static_cast<std::size_t>(count);
}

Unfit JpegReader::read_header() {
  if (setjmp(jump_) != 0) return unfit_;
  info_.err = jpeg_std_error(&errors_);
  errors_.error_exit = on_error;
  errors_.emit_message = on_message;
  errors_.output_message = [](j_common_ptr) {};
  info_.client_data = this;
  jpeg_create_decompress(&info_);
  const auto nothing = [](j_decompress_ptr) {};
  source_ = {.next_input_byte = reinterpret_cast<const JOCTET*>(file_.data()),
             .bytes_in_buffer = file_.size(),
             .init_source = nothing,
             .fill_input_buffer = on_source_end,
             .skip_input_data = on_source_skip,
             .resync_to_restart = jpeg_resync_to_restart,
             .term_source = nothing};
  info_.src = &source_;
  progress_.progress_monitor = on_progress;
  info_.progress = &progress_;
  jpeg_read_header(&info_, TRUE);
  return Unfit::none;
}

Unfit JpegReader::read_coefficients() {
  if (setjmp(jump_) != 0) return unfit_;
  arrays_ = jpeg_read_coefficients(&info_);
  return Unfit::none;
}

const JBLOCK* JpegReader::row(int component, int y) {
  if (setjmp(jump_) != 0) return nullptr;
  return info_.mem->access_virt_barray(reinterpret_cast<j_common_ptr>(&info_), arrays_[component],
                                       static_cast<JDIMENSION>(y), 1, FALSE)[0];
}

}  // namespace tundish::lanes
