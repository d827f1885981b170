#include "codec/lanes/jpeg_maker.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

// jpeglib.h requires size_t and FILE to be declared first.
#include <jpeglib.h>

namespace tundish::lanes {
namespace {

int between(Random& random, int low, int high) {
  return low + static_cast<int>(random.below(static_cast<std::uint64_t>(high - low) + 1));
}

std::vector<std::uint8_t> make_pixels(const JpegKind& kind, int components) {
  Random random({.seed = kind.seed}, 0);
  std::vector<std::uint8_t> out;
  for (int y = 0; y < kind.height; ++y) {
    for (int x = 0; x < kind.width; ++x) {
      for (int c = 0; c < components; ++c) {
        const int edge = ((x >> 2) ^ (y >> 3)) % 5 == c ? 120 : 0;
        const int value = x * (c + 1) + y * 3 + edge + static_cast<int>(random.below(40));
        const int plain = kind.picture == JpegKind::Picture::flat ? 90 + 10 * c : x % 2 * 255;
        const bool noisy = kind.picture == JpegKind::Picture::noisy;
        out.push_back(static_cast<std::uint8_t>(noisy ? value : plain));
      }
    }
  }
  return out;
}

jpeg_scan_info scan_of(const std::vector<int>& components, int first, int last, int high, int low) {
  jpeg_scan_info out = {.comps_in_scan = static_cast<int>(components.size()),
                        .component_index = {},
                        .Ss = first,
                        .Se = last,
                        .Ah = high,
                        .Al = low};
  for (std::size_t i = 0; i < components.size(); ++i) out.component_index[i] = components[i];
  return out;
}

// Returns a random valid progressive script: DC of all components together or one by one, then AC
// in bands, each with up to three refinements, in any valid order.
std::vector<jpeg_scan_info> random_script(std::uint64_t seed, int components) {
  Random random({.seed = seed}, 1);
  std::vector<jpeg_scan_info> out;
  std::vector<std::vector<jpeg_scan_info>> chains;  // scans in fixed order
  const auto chain = [&](const std::vector<int>& which, int first, int last) {
    const int low = between(random, 0, 3);
    std::vector<jpeg_scan_info> scans = {scan_of(which, first, last, 0, low)};
    for (int bit = low - 1; bit >= 0; --bit) {
      scans.push_back(scan_of(which, first, last, bit + 1, bit));
    }
    if (first == 0) {  // must precede any AC of the component
      out.push_back(scans.front());
      scans.erase(scans.begin());
    }
    chains.push_back(scans);
  };
  if (components > 1 && random.below(2) == 0) {
    chain(components == 3 ? std::vector{0, 1, 2} : std::vector{0, 1}, 0, 0);
  } else {
    for (int c = 0; c < components; ++c) chain({c}, 0, 0);
  }
  for (int c = 0; c < components; ++c) {
    for (int first = 1; first <= 63;) {
      const int last = random.below(2) == 0 ? 63 : between(random, first, 63);
      chain({c}, first, last);
      first = last + 1;
    }
  }
  for (bool more = true; more;) {
    more = false;
    for (std::vector<jpeg_scan_info>& scans : chains) {
      if (scans.empty()) continue;
      more = true;
      if (random.below(3) == 0) continue;
      out.push_back(scans.front());
      scans.erase(scans.begin());
    }
  }
  return out;
}

void write_marker(jpeg_compress_struct& info, int marker, const std::string& text) {
  if (text.empty()) return;
  jpeg_write_marker(&info, marker, reinterpret_cast<const JOCTET*>(text.data()),
                    static_cast<unsigned>(text.size()));
}

}  // namespace

ByteVector make_jpeg(const JpegKind& kind) {
  static constexpr J_COLOR_SPACE kSpaces[] = {JCS_YCbCr, JCS_RGB, JCS_GRAYSCALE, JCS_CMYK,
                                              JCS_UNKNOWN};
  static constexpr int kComponents[] = {3, 3, 1, 4, 2};
  const auto which = static_cast<std::size_t>(kind.space);
  jpeg_compress_struct info = {};
  jpeg_error_mgr errors = {};
  info.err = jpeg_std_error(&errors);
  errors.error_exit = [](j_common_ptr) { std::abort(); };  // a test requested an impossible kind
  errors.emit_message = [](j_common_ptr, int) {};
  jpeg_create_compress(&info);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &memory, &size);
  info.image_width = static_cast<JDIMENSION>(kind.width);
  info.image_height = static_cast<JDIMENSION>(kind.height);
  info.in_color_space = kSpaces[which] == JCS_YCbCr ? JCS_RGB : kSpaces[which];
  info.input_components = kComponents[which];
  jpeg_set_defaults(&info);
  jpeg_set_colorspace(&info, kSpaces[which]);
  jpeg_set_quality(&info, kind.quality, FALSE);
  info.arith_code = kind.arithmetic ? TRUE : FALSE;
  info.optimize_coding = kind.optimized ? TRUE : FALSE;
  for (int c = 0; c < info.num_components; ++c) {
    info.comp_info[c].h_samp_factor = kind.h[c];
    info.comp_info[c].v_samp_factor = kind.v[c];
  }
  info.restart_in_rows = kind.restart_rows;
  info.restart_interval = static_cast<unsigned>(kind.restart_mcus);
  std::vector<jpeg_scan_info> script;
  if (kind.script != 0) {
    script = random_script(kind.script, info.num_components);
  } else if (!kind.interleaved) {
    for (int c = 0; c < info.num_components; ++c) script.push_back(scan_of({c}, 0, 63, 0, 0));
  } else if (kind.progressive) {
    jpeg_simple_progression(&info);
  }
  if (!script.empty()) {
    info.scan_info = script.data();
    info.num_scans = static_cast<int>(script.size());
  }
  jpeg_start_compress(&info, TRUE);
  if (!kind.exif.empty()) write_marker(info, JPEG_APP0 + 1, "Exif" + kind.exif);
  write_marker(info, JPEG_COM, kind.comment);
  std::vector<std::uint8_t> pixels = make_pixels(kind, info.input_components);
  for (int y = 0; y < kind.height; ++y) {
    JSAMPROW row = pixels.data() + y * kind.width * info.input_components;
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  const auto* begin = reinterpret_cast<const std::byte*>(memory);
  ByteVector out(begin, begin + size);
  std::free(memory);
  return out;
}

JpegKind random_kind(Random& random, int side) {
  // Luma's and chroma's factors: every sampling, also with larger factors than needed.
  static constexpr int kFactors[][4] = {{1, 1, 1, 1}, {2, 1, 1, 1}, {2, 2, 1, 1}, {1, 2, 1, 1},
                                        {4, 1, 1, 1}, {2, 1, 2, 1}, {1, 2, 1, 2}, {2, 2, 2, 1},
                                        {2, 2, 1, 2}, {1, 3, 1, 3}, {3, 1, 3, 1}, {2, 4, 1, 2}};
  JpegKind kind;
  kind.width = between(random, 1, side);
  kind.height = between(random, 1, side);
  kind.space = static_cast<JpegKind::Space>(random.below(3));
  const auto& factors = kFactors[random.below(std::size(kFactors))];
  for (int c = 0; c < 3; ++c) {
    kind.h[c] = factors[c == 0 ? 0 : 2];
    kind.v[c] = factors[c == 0 ? 1 : 3];
  }
  // An MCU may have at most ten blocks; larger ones need one scan per component.
  kind.interleaved =
      random.below(4) != 0 && factors[0] * factors[1] + 2 * factors[2] * factors[3] <= 10;
  kind.quality = between(random, 5, 100);
  kind.optimized = random.below(2) == 0;
  if (kind.interleaved && random.below(2) == 0) {
    kind.progressive = true;
    if (random.below(3) != 0) kind.script = random.next() | 1;
  }
  if (random.below(3) == 0) kind.restart_mcus = between(random, 1, 9);
  if (random.below(6) == 0) kind.restart_rows = 1;
  if (random.below(4) == 0) kind.comment = "a comment";
  if (random.below(4) == 0) kind.exif = std::string("\0\0II*\0\xff\xd8\xff\xda", 10);
  if (random.below(4) == 0) kind.picture = static_cast<JpegKind::Picture>(1 + random.below(2));
  kind.seed = random.next();
  return kind;
}

std::string describe(const JpegKind& kind) {
  return fmt::format(
      "{} x {}, space {}, luma {}x{}, chroma {}x{}, quality {}, optimized {}, progressive {}, "
      "script {}, interleaved {}, restart {} / {} rows, picture {}, seed {}",
      kind.width, kind.height, static_cast<int>(kind.space), kind.h[0], kind.v[0], kind.h[1],
      kind.v[1], kind.quality, kind.optimized, kind.progressive, kind.script, kind.interleaved,
      kind.restart_mcus, kind.restart_rows, static_cast<int>(kind.picture), kind.seed);
}

std::size_t find_marker(const ByteVector& file, int marker, std::size_t from) {
  for (std::size_t at = from; at + 1 < file.size(); ++at) {
    if (file[at] == std::byte{0xff} && std::to_integer<int>(file[at + 1]) == marker) return at;
  }
  FAIL("no such marker");
  return 0;
}

}  // namespace tundish::lanes
