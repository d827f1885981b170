// Compares two ways from the bytes of a PNG to its pixels, on one thread:
//
//   libpng    row by row, with Debian's zlib
//   tundish   decode(): all rows at once by libdeflate, unfiltered by our own code
//
//   bench_png SOURCE ROUNDS     SOURCE: a folder of PNGs. Prints a JSON line to stdout.
#include "codec/decode/png.h"

#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <vector>

#include "data/pack/open.h"

namespace {

using namespace tundish;

struct Image {
  std::vector<std::byte> bytes;
  ImageHeader header;
};

// Adds up one byte of each strip, so that no work is optimized away, or keeps all pixels.
struct Sink : StripSink {
  void push(const Strip& strip) override {
    sum += strip.pixels[0];
    if (!keep) return;
    for (int y = 0; y < strip.rows; ++y) {
      const std::uint8_t* const row = strip.pixels + y * strip.stride;
      pixels.insert(pixels.end(), row, row + std::ptrdiff_t{3} * strip.width);
    }
  }
  bool keep = false;
  std::uint64_t sum = 0;
  std::vector<std::uint8_t> pixels;
};

void decode_one(Sink& sink, const Image& image, PngPath path, DecodeScratch& scratch) {
  const Window whole{0, 0, static_cast<int>(image.header.width),
                     static_cast<int>(image.header.height)};
  if (decode_png(sink, image.bytes, image.header, whole, scratch, path)) std::abort();
}

double cpu_seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double time_all(const std::vector<Image>& images, PngPath path, DecodeScratch& scratch) {
  Sink sink;
  const double begin = cpu_seconds();
  for (const Image& image : images) decode_one(sink, image, path, scratch);
  return cpu_seconds() - begin;
}

}  // namespace

int main(int count, char** words) {
  if (count != 3) return 2;
  const auto source = open_source(words[1]);
  const int rounds = std::atoi(words[2]);
  std::vector<Image> images;
  double megapixels = 0;
  Sample sample;
  for (std::uint64_t i = 0; i < source->count(); ++i) {
    source->read(sample, i, FieldSet{1} << source->schema().find(FieldType::image));
    Image image;
    image.bytes =
        sample.fields.at(static_cast<std::size_t>(source->schema().find(FieldType::image)));
    if (read_header(image.header, image.bytes) || image.header.codec != Codec::png) continue;
    megapixels += 1e-6 * image.header.width * image.header.height;
    images.push_back(std::move(image));
  }
  DecodeScratch scratch;
  int differing = 0;
  for (const Image& image : images) {
    Sink ours, theirs;
    ours.keep = theirs.keep = true;
    decode_one(ours, image, PngPath::fastest, scratch);
    decode_one(theirs, image, PngPath::libpng, scratch);
    differing += ours.pixels != theirs.pixels;
  }
  std::vector<double> fast, slow;
  for (int round = 0; round < rounds; ++round) {
    slow.push_back(time_all(images, PngPath::libpng, scratch));
    fast.push_back(time_all(images, PngPath::fastest, scratch));
  }
  const nlohmann::json out = {{"images", images.size()},
                              {"megapixels", megapixels},
                              {"differing", differing},
                              {"seconds", {{"libpng", slow}, {"tundish", fast}}}};
  std::puts(out.dump().c_str());
  return 0;
}
