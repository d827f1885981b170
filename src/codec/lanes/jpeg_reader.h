// Reads the coefficients of a JPEG file by libjpeg-turbo, one row of blocks at a time.
#pragma once

#include <csetjmp>
#include <cstdio>

#include "base/bytes.h"
#include "codec/lanes/jpeg_file.h"

// jpeglib.h requires size_t and FILE to be declared first.
#include <jpeglib.h>

namespace tundish::lanes {

class JpegReader {
 public:
  JpegReader(Bytes file, std::uint32_t max_scans);
  ~JpegReader();
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  // Both stop at the library's first warning. A missing end marker is accepted.
  Unfit read_header();
  Unfit read_coefficients();

  const jpeg_decompress_struct& info() const { return info_; }

  // Returns a row after read_coefficients(), including the blocks that pad MCUs of interleaved
  // scans: rows and columns are valid up to the next multiple of the sampling factors.
  const JBLOCK* row(int component, int y);

 private:
  static JpegReader& self(j_common_ptr info);
  [[noreturn]] static void on_error(j_common_ptr info);
  static void on_message(j_common_ptr info, int level);
  static void on_progress(j_common_ptr info);
  static boolean on_source_end(j_decompress_ptr info);
  static void on_source_skip(j_decompress_ptr info, long count);
  [[noreturn]] void leave(Unfit unfit);

  jpeg_decompress_struct info_ = {};
  jpeg_error_mgr errors_ = {};
  jpeg_source_mgr source_ = {};
  jpeg_progress_mgr progress_ = {};
  std::jmp_buf jump_;
  Bytes file_;
  std::uint32_t max_scans_;
  jvirt_barray_ptr* arrays_ = nullptr;
  Unfit unfit_ = Unfit::none;
};

}  // namespace tundish::lanes
