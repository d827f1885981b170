// Three ways from the bytes of a JPEG to the pixels of a crop, on one thread:
//
//   turbo_full    libjpeg-turbo decodes the whole image; then it is cropped
//   turbo_region  libjpeg-turbo's jpeg_crop_scanline and jpeg_skip_scanlines, used as its
//                 documentation shows: columns at the edge of the crop may be wrong
//   tundish       decode(), whose pixels must equal turbo_full's
//
//   bench_decode SOURCE SEED ROUNDS     SOURCE: a folder or a pack; images other than JPEG are
//                                       skipped. Prints a JSON line to stdout.
#include "codec/decode/decode.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "augment/transform.h"
#include "data/pack/open.h"

// jpeglib.h requires size_t and FILE to be declared first.
#include <jpeglib.h>

namespace {

using namespace tundish;

struct Image {
  std::vector<std::byte> bytes;
  ImageHeader header;
  Window crop;
};

// A contestant's output: rows of `stride` bytes, the crop's first pixel at `first`.
struct Pixels {
  std::vector<std::uint8_t> memory;
  std::size_t stride = 0;
  std::size_t first = 0;
};

void decode_turbo(Pixels& out, const Image& image, bool region) {
  jpeg_decompress_struct info = {};
  jpeg_error_mgr errors = {};
  info.err = jpeg_std_error(&errors);
  errors.emit_message = [](j_common_ptr, int) {};
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(image.bytes.data()),
               image.bytes.size());
  jpeg_read_header(&info, TRUE);
  info.out_color_space = JCS_RGB;
  jpeg_start_decompress(&info);

  JDIMENSION x = 0, width = info.output_width;
  JDIMENSION first_row = 0, end_row = info.output_height;
  if (region) {
    x = static_cast<JDIMENSION>(image.crop.x);
    width = static_cast<JDIMENSION>(image.crop.width);
    jpeg_crop_scanline(&info, &x, &width);
    first_row = static_cast<JDIMENSION>(image.crop.y);
    end_row = first_row + static_cast<JDIMENSION>(image.crop.height);
    jpeg_skip_scanlines(&info, first_row);
  }
  out.stride = std::size_t{width} * 3;
  out.first = (static_cast<std::size_t>(image.crop.y) - first_row) * out.stride +
              (static_cast<std::size_t>(image.crop.x) - x) * 3;
  out.memory.resize(std::max(out.memory.size(), out.stride * (end_row - first_row)));
  while (info.output_scanline < end_row) {
    JSAMPROW row = out.memory.data() + (info.output_scanline - first_row) * out.stride;
    jpeg_read_scanlines(&info, &row, 1);
  }
  jpeg_destroy_decompress(&info);
}

void turbo_full(Pixels& out, const Image& image) { decode_turbo(out, image, false); }
void turbo_region(Pixels& out, const Image& image) { decode_turbo(out, image, true); }

// Keeps the strips, so that all contestants end with the pixels in memory.
struct Keep : StripSink {
  Keep(Pixels& out, const Window& crop) : out(out), crop(crop) {}

  void push(const Strip& strip) override {
    const std::uint8_t* from = strip.pixels + std::ptrdiff_t{crop.x - strip.x} * 3;
    std::uint8_t* to = out.memory.data() + static_cast<std::size_t>(strip.y - crop.y) * out.stride;
    for (int y = 0; y < strip.rows; ++y, from += strip.stride, to += out.stride) {
      std::memcpy(to, from, out.stride);
    }
  }

  Pixels& out;
  const Window& crop;
};

void tundish_region(Pixels& out, const Image& image) {
  static DecodeScratch scratch;
  out.stride = static_cast<std::size_t>(image.crop.width) * 3;
  out.first = 0;
  out.memory.resize(
      std::max(out.memory.size(), out.stride * static_cast<std::size_t>(image.crop.height)));
  Keep keep(out, image.crop);
  if (const auto fault = decode(keep, image.bytes, image.header, image.crop, scratch)) {
    throw Error(*fault, {});
  }
}

struct Contestant {
  const char* name;
  void (*run)(Pixels& out, const Image& image);
};

constexpr Contestant kContestants[] = {
    {"turbo_full", turbo_full}, {"turbo_region", turbo_region}, {"tundish", tundish_region}};

int components(const std::vector<std::byte>& bytes) {
  jpeg_decompress_struct info = {};
  jpeg_error_mgr errors = {};
  info.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  jpeg_read_header(&info, TRUE);
  const int count = info.num_components;
  jpeg_destroy_decompress(&info);
  return count;
}

// Reads whole JPEGs, except CMYK, which libjpeg-turbo alone does not convert to RGB.
std::vector<Image> read_images(const std::string& path, std::uint64_t seed) {
  const auto source = open_source(path);
  const int field = source->schema().find(FieldType::image);
  if (field < 0) throw Error(ErrorCode::argument, {.file = path}, "it has no images");
  const Transforms transforms = {RandomResizedCrop{.size = {224, 224}}};
  std::vector<Image> images;
  Sample sample;
  for (std::uint64_t i = 0; i < source->count(); ++i) {
    source->read(sample, i, FieldSet{1} << field);
    Image image{.bytes = sample.fields[static_cast<std::size_t>(field)], .header = {}, .crop = {}};
    if (read_header(image.header, image.bytes) || image.header.codec != Codec::jpeg) continue;
    const Size size{static_cast<int>(image.header.width), static_cast<int>(image.header.height)};
    if (components(image.bytes) == 4) continue;
    image.crop = plan_view(transforms, size, {.seed = seed, .sample = i}).first().crop;
    images.push_back(std::move(image));
  }
  if (images.empty()) throw Error(ErrorCode::argument, {.file = path}, "it has no JPEG");
  return images;
}

// Returns the largest difference of two crops, in levels.
int difference(const Pixels& a, const Pixels& b, const Window& crop) {
  int largest = 0;
  for (std::size_t y = 0; y < static_cast<std::size_t>(crop.height); ++y) {
    const std::uint8_t* p = a.memory.data() + a.first + y * a.stride;
    const std::uint8_t* q = b.memory.data() + b.first + y * b.stride;
    for (std::size_t i = 0; i < static_cast<std::size_t>(crop.width) * 3; ++i) {
      largest = std::max(largest, std::abs(p[i] - q[i]));
    }
  }
  return largest;
}

nlohmann::json compare(const std::vector<Image>& images) {
  nlohmann::json out;
  Pixels expected, pixels;
  for (const Contestant& contestant : kContestants) {
    int largest = 0, differing = 0;
    for (const Image& image : images) {
      turbo_full(expected, image);
      contestant.run(pixels, image);
      const int here = difference(expected, pixels, image.crop);
      differing += here != 0 ? 1 : 0;
      largest = std::max(largest, here);
    }
    out[contestant.name] = {{"differing", differing}, {"largest", largest}};
  }
  return out;
}

// CPU time of this thread, which only decodes; other load on the machine does not count.
double cpu_s() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 4) {
      throw Error(ErrorCode::argument, {}, "see the first lines of bench/decode/decode.cpp");
    }
    const std::vector<Image> images = read_images(argv[1], std::strtoull(argv[2], nullptr, 10));
    nlohmann::json result = {{"images", images.size()}, {"pixels", compare(images)}};
    double bytes = 0, area = 0, crops = 0;
    for (const Image& image : images) {
      bytes += static_cast<double>(image.bytes.size());
      area += static_cast<double>(image.header.width) * image.header.height;
      crops += static_cast<double>(image.crop.width) * image.crop.height;
    }
    result["megabytes"] = bytes / 1e6;
    result["megapixels"] = area / 1e6;
    result["crop_share"] = crops / area;

    Pixels pixels;
    for (int round = std::atoi(argv[3]); round > 0; --round) {
      for (const Contestant& contestant : kContestants) {
        const double begin = cpu_s();
        for (const Image& image : images) contestant.run(pixels, image);
        result["seconds"][contestant.name].push_back(cpu_s() - begin);
      }
    }
    fmt::print("{}\n", result.dump());
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_decode: {}\n", error.what());
    return 1;
  }
}
