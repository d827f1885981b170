#include "base/libraries/linked_libraries.h"

#include <bzlib.h>
#include <fmt/core.h>
#include <libdeflate.h>
#include <lz4.h>
#include <lzma.h>
#include <png.h>
#include <webp/decode.h>
#include <xxhash.h>
#include <zlib.h>
#include <zstd.h>

#include <cstdio>  // before jpeglib.h, which uses FILE
#include <nlohmann/json_fwd.hpp>
//
#include <jpeglib.h>

#ifndef TUNDISH_CUDA_RUNTIME  // set by cmake/cuda.cmake when the CUDA part is built
#define TUNDISH_CUDA_RUNTIME ""
#endif

namespace tundish {
namespace {

// Formats a packed version: 20105 with a step of 100 -> "2.1.5".
std::string dotted(long number, long step) {
  return fmt::format("{}.{}.{}", number / step / step, number / step % step, number % step);
}

std::string first_word(const std::string& text) { return text.substr(0, text.find_first_of(", ")); }

}  // namespace

// Queries the library itself where it reports a version, otherwise its header.
std::vector<LinkedLibrary> linked_libraries() {
  return {
      {"libjpeg-turbo", dotted(LIBJPEG_TURBO_VERSION_NUMBER, 1000)},
      {"libpng", dotted(static_cast<long>(png_access_version_number()), 100)},
      {"libwebp", fmt::format("{}.{}.{}", WebPGetDecoderVersion() >> 16,
                              WebPGetDecoderVersion() >> 8 & 255, WebPGetDecoderVersion() & 255)},
      {"libdeflate", LIBDEFLATE_VERSION_STRING},
      {"zlib", first_word(zlibVersion())},
      {"zstd", ZSTD_versionString()},
      {"lz4", LZ4_versionString()},
      {"liblzma", lzma_version_string()},
      {"bzip2", first_word(BZ2_bzlibVersion())},
      {"fmt", dotted(FMT_VERSION, 100)},
      {"nlohmann-json", fmt::format("{}.{}.{}", NLOHMANN_JSON_VERSION_MAJOR,
                                    NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH)},
      {"xxhash", dotted(XXH_VERSION_NUMBER, 100)},
      {"cuda-runtime", TUNDISH_CUDA_RUNTIME},
  };
}

}  // namespace tundish
