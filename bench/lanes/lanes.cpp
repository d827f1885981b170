// What re-coding JPEGs costs and gives, on one thread:
//
//   packing        take apart, prove, encode, decode again and compare, per image
//   coefficients   libjpeg-turbo's jpeg_read_coefficients against ours
//   crops          RandomResizedCrop(224) to uint8: libjpeg-turbo decoding the whole image or the
//                  region, with our resize, against ours
//
//   bench_lanes SOURCE SEED ROUNDS TABLES    SOURCE: a folder, or a pack with JPEGs as they came;
//                                            TABLES: builtin or train. A JSON line to stdout.
#include <fmt/format.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "augment/transforms.h"
#include "decode/decode.h"
#include "lanes/transcode.h"
#include "pack/open.h"

// jpeglib.h wants size_t and FILE declared before it.
#include <jpeglib.h>

namespace {

using namespace tundish;

constexpr int kSide = 224;
constexpr std::size_t kCropBytes = std::size_t{3} * kSide * kSide;
constexpr const char* kSamplings[] = {"grey", "4:4:4", "4:2:2", "4:2:0", "4:4:0", "4:1:1"};

struct Image {
  std::vector<std::byte> jpeg, record, restore;
  Size size;
  Window crop;
  int sampling = 0;
};

// Of this thread, which does nothing else: what else the machine does is not counted.
double cpu_s() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// libjpeg-turbo's decompressor over one image; `use` runs between header and the end.
template <typename Use>
void with_turbo(const Image& image, const Use& use) {
  jpeg_decompress_struct info = {};
  jpeg_error_mgr errors = {};
  info.err = jpeg_std_error(&errors);
  errors.emit_message = [](j_common_ptr, int) {};
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(image.jpeg.data()), image.jpeg.size());
  jpeg_read_header(&info, TRUE);
  use(info);
  jpeg_destroy_decompress(&info);
}

struct Copy : RowSink {
  std::uint8_t* to = nullptr;
  void row(int y, const std::uint8_t* rgb, int width, bool) override {
    const auto bytes = std::size_t{3} * static_cast<std::size_t>(width);
    std::memcpy(to + static_cast<std::size_t>(y) * bytes, rgb, bytes);
  }
};

// A crop by libjpeg-turbo: the whole image, or its region with the margin that makes it exact.
class Turbo {
 public:
  Turbo(bool region, Cpu cpu) : region_(region), resample_(cpu) {}

  void crop(std::uint8_t* out, const Image& image) {
    Copy copy;
    copy.to = out;
    const Stage stage{.crop = image.crop,
                      .size = {kSide, kSide},
                      .filter = Filter::bilinear,
                      .keep = {0, 0, kSide, kSide}};
    resample_.begin(stage, image.size, copy);
    with_turbo(image, [&](jpeg_decompress_struct& info) {
      info.out_color_space = JCS_RGB;
      jpeg_start_decompress(&info);
      constexpr int kMargin = 32;
      const Window& crop = image.crop;
      JDIMENSION x = 0, width = info.output_width;
      int row = 0, end = image.size.height;
      if (region_) {
        const int left = std::max(0, crop.x - kMargin);
        const int right = std::min(image.size.width, crop.x + crop.width + kMargin);
        x = static_cast<JDIMENSION>(left);
        width = static_cast<JDIMENSION>(right - left);
        jpeg_crop_scanline(&info, &x, &width);
        row = crop.y;
        end = crop.y + crop.height;
        if (row > 0) jpeg_skip_scanlines(&info, static_cast<JDIMENSION>(row));
      }
      constexpr int kRows = 16;
      const std::size_t stride = std::size_t{3} * width;
      rows_.resize(std::max(rows_.size(), stride * kRows));
      while (row < end) {
        const int count = std::min(kRows, end - row);
        for (int i = 0; i < count;) {
          JSAMPROW to = rows_.data() + static_cast<std::size_t>(i) * stride;
          i += static_cast<int>(jpeg_read_scanlines(&info, &to, 1));
        }
        resample_.push({rows_.data(), static_cast<std::ptrdiff_t>(stride), static_cast<int>(x), row,
                        static_cast<int>(width), count});
        row += count;
      }
      jpeg_abort_decompress(&info);
    });
    resample_.finish();
  }

 private:
  bool region_;
  Resample resample_;
  std::vector<std::uint8_t> rows_;
};

struct Set {
  std::vector<Image> images;
  lanes::Tables tables;
  nlohmann::json result;
};

void add(nlohmann::json& to, std::uint64_t more) {
  to = (to.is_null() ? 0 : to.get<std::uint64_t>()) + more;
}

// Transcodes every JPEG that can be, and counts what it cost.
void read_images(Set& out, const std::string& path, std::uint64_t seed, bool train) {
  const auto source = open_source(path);
  const auto field = static_cast<std::size_t>(source->schema().find(FieldType::image));
  const Transforms transforms = {RandomResizedCrop{.size = {kSide, kSide}}};
  Sample sample;
  lanes::Transcoder transcoder;
  std::vector<lanes::ImageSample> samples;
  for (std::uint64_t i = 0; i < source->count(); ++i) {
    source->read_original(sample, i, FieldSet{1} << field);
    ImageHeader header;
    if (read_header(header, sample.fields[field]) || header.codec != Codec::jpeg) continue;
    Image image;
    image.jpeg = sample.fields[field];
    image.size = {static_cast<int>(header.width), static_cast<int>(header.height)};
    image.crop = plan_view(transforms, image.size, {.seed = seed, .sample = i}).stages()[0].crop;
    if (train && samples.size() < 1000) {
      transcoder.sample(samples.emplace_back(), image.jpeg, 60);
    }
    out.images.push_back(std::move(image));
  }
  if (train) lanes::fit_tables(out.tables, samples);
  if (!train) out.tables = lanes::builtin_tables();

  std::vector<Image> fit;
  double seconds = 0;
  for (Image& image : out.images) {
    const double begin = cpu_s();
    const lanes::Unfit unfit =
        transcoder.transcode(image.record, image.restore, image.jpeg, out.tables);
    seconds += cpu_s() - begin;
    if (unfit != lanes::Unfit::none) {
      add(out.result["kept"][lanes::unfit_name(unfit)], 1);
      continue;
    }
    image.sampling = static_cast<int>(image.record[2]) & 7;
    auto& group = out.result["bytes"][kSamplings[image.sampling]];
    add(group["images"], 1);
    add(group["jpeg"], image.jpeg.size());
    add(group["record"], image.record.size());
    add(group["restore"], image.restore.size());
    fit.push_back(std::move(image));
  }
  out.result["pack_seconds"] = seconds;
  out.result["images"] = out.images.size();
  out.images = std::move(fit);
  if (out.images.empty())
    throw Error(ErrorCode::argument, {.file = path}, "no JPEG can be re-coded");
}

using Crop = std::function<void(std::uint8_t*, const Image&)>;

struct Contestant {
  std::string name;
  Crop run;
};

void require(const std::optional<Fault>& fault) {
  if (fault) throw Error(*fault, {});
}

std::vector<Contestant> crops(const Set& set) {
  std::vector<Contestant> out;
  for (const Cpu level : {Cpu::sse, Cpu::avx2, Cpu::avx512}) {
    if (level > best_cpu()) continue;
    const std::string cpu = cpu_name(level);
    for (const bool region : {false, true}) {
      auto turbo = std::make_shared<Turbo>(region, level);
      out.push_back({fmt::format("turbo_{} {}", region ? "region" : "full", cpu),
                     [turbo](std::uint8_t* to, const Image& image) { turbo->crop(to, image); }});
    }
    auto decoder = std::make_shared<lanes::Decoder>(level);
    out.push_back({"lanes " + cpu, [decoder, &set](std::uint8_t* to, const Image& image) {
                     require(decoder->crop_resize(to, image.record, image.crop, {kSide, kSide},
                                                  Filter::bilinear, set.tables));
                   }});
  }
  return out;
}

std::vector<Contestant> coefficients(const Set& set) {
  std::vector<Contestant> out = {
      {"turbo", [](std::uint8_t*, const Image& image) {
         with_turbo(image, [](jpeg_decompress_struct& info) { jpeg_read_coefficients(&info); });
       }}};
  for (const Cpu level : {Cpu::scalar, Cpu::avx2, Cpu::avx512}) {
    if (level > best_cpu()) continue;
    auto decoder = std::make_shared<lanes::Decoder>(level);
    auto to = std::make_shared<lanes::Coefficients>();
    out.push_back({fmt::format("lanes {}", cpu_name(level)),
                   [decoder, to, &set](std::uint8_t*, const Image& image) {
                     require(decoder->decode(*to, image.record, set.tables));
                   }});
  }
  return out;
}

// Whole passes over all images, the contestants in turn.
void race(nlohmann::json& out, const std::vector<Contestant>& contestants,
          const std::vector<Image>& images, int rounds) {
  std::vector<std::uint8_t> pixels(kCropBytes);
  for (int round = 0; round < rounds; ++round) {
    for (const Contestant& contestant : contestants) {
      const double begin = cpu_s();
      for (const Image& image : images) contestant.run(pixels.data(), image);
      out[contestant.name].push_back(cpu_s() - begin);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 5)
      throw Error(ErrorCode::argument, {}, "see the first lines of bench/lanes/lanes.cpp");
    static Set set;
    read_images(set, argv[1], std::strtoull(argv[2], nullptr, 10), argv[4] == std::string("train"));
    const int rounds = std::atoi(argv[3]);
    const std::vector<Contestant> croppers = crops(set);
    std::vector<std::uint8_t> expected(kCropBytes), got(kCropBytes);
    for (const Contestant& contestant : croppers) {
      int differing = 0;
      for (const Image& image : set.images) {
        croppers[0].run(expected.data(), image);
        contestant.run(got.data(), image);
        differing += expected != got;
      }
      set.result["differing"][contestant.name] = differing;
    }
    race(set.result["crops"], croppers, set.images, rounds);
    race(set.result["coefficients"], coefficients(set), set.images, rounds);
    fmt::print("{}\n", set.result.dump());
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_lanes: {}\n", error.what());
    return 1;
  }
}
