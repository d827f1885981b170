// Measures the costs and benefits of re-coding JPEGs, on one thread:
//
//   packing        take apart, verify, encode, decode again and compare, per image
//   crops          RandomResizedCrop(224) to uint8: libjpeg-turbo decoding the whole image or the
//                  region, with our resize, against ours
//   coefficients   libjpeg-turbo's jpeg_read_coefficients against ours
//   steps          our crop, stopped after each step
//
//   bench_lanes SOURCE SEED ROUNDS TABLES WHAT
//       SOURCE: a folder, or a pack with unchanged JPEGs. TABLES: builtin or train.
//       WHAT: all, or crops (on AVX2 and AVX-512 only). Prints a JSON line to stdout.
#include <fmt/format.h>
#include <time.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "augment/transform.h"
#include "codec/decode/decode.h"
#include "codec/lanes/transcode.h"
#include "data/pack/open.h"
#include "image.h"
#include "partial_decoder.h"
#include "turbo.h"

namespace tundish::bench {
namespace {

constexpr const char* kSamplings[] = {"gray", "4:4:4", "4:2:2", "4:2:0", "4:4:0", "4:1:1"};

struct Set {
  std::vector<Image> images;
  lanes::Tables tables;
  nlohmann::json result;
};

// CPU time of this thread, which runs nothing else; other load on the machine does not count.
double cpu_s() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

void require(const std::optional<Fault>& fault) {
  if (fault) throw Error(*fault, {});
}

void add(nlohmann::json& to, std::uint64_t more) {
  to = (to.is_null() ? 0 : to.get<std::uint64_t>()) + more;
}

// Transcodes every suitable JPEG and records the costs.
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
    image.crop = plan_view(transforms, image.size, {.seed = seed, .sample = i}).first().crop;
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

struct Contestant {
  std::string name;
  std::function<void(std::uint8_t*, const Image&)> run;
  bool slow = false;  // runs in the first round only
};

// Instruction sets of this machine from `least` on; the best available one if all are below.
std::vector<Cpu> levels_from(Cpu least) {
  std::vector<Cpu> out;
  for (const Cpu level : {Cpu::scalar, Cpu::sse, Cpu::avx2, Cpu::avx512}) {
    if (level >= least && level <= best_cpu()) out.push_back(level);
  }
  if (out.empty()) out.push_back(best_cpu());
  return out;
}

Contestant lanes_crop(const std::string& name, const Set& set, Cpu level) {
  auto decoder = std::make_shared<lanes::Decoder>(level);
  auto resample = std::make_shared<Resample>(level);
  return {name, [decoder, resample, &set](std::uint8_t* to, const Image& image) {
            Picture picture(to);
            resample->begin(step_of(image.crop), image.size, picture);
            require(decoder->decode(*resample, image.record, resample->needed(), set.tables));
            resample->finish();
          }};
}

std::vector<Contestant> crops(const Set& set, Cpu least) {
  std::vector<Contestant> out;
  for (const Cpu level : levels_from(least)) {
    for (const bool region : {false, true}) {
      auto turbo = std::make_shared<TurboCrop>(region, level);
      out.push_back({fmt::format("turbo_{} {}", region ? "region" : "full", cpu_name(level)),
                     [turbo](std::uint8_t* to, const Image& image) { turbo->run(to, image); }});
    }
    out.push_back(lanes_crop(fmt::format("lanes {}", cpu_name(level)), set, level));
    for (std::size_t i = out.size() - 3; i < out.size(); ++i) out[i].slow = level == Cpu::scalar;
  }
  return out;
}

struct Nowhere : StripSink {
  void push(const Strip&) override {}
};

// Returns a part of our decoder, run on each image's crop or on the whole image.
Contestant part(const std::string& name, const Set& set, Until until, Cpu level, bool whole) {
  auto decoder = std::make_shared<PartialDecoder>(until, level);
  return {name, [decoder, whole, &set](std::uint8_t*, const Image& image) {
            Nowhere nowhere;
            const Window all{0, 0, image.size.width, image.size.height};
            require(decoder->decode(nowhere, image.record, whole ? all : image.crop, set.tables));
          }};
}

std::vector<Contestant> coefficients(const Set& set) {
  std::vector<Contestant> out = {
      {"turbo", [](std::uint8_t*, const Image& image) { read_turbo_coefficients(image); }}};
  for (const Cpu level : levels_from(Cpu::scalar)) {
    auto decoder = std::make_shared<lanes::Decoder>(level);
    auto to = std::make_shared<lanes::Coefficients>();
    const std::string name = fmt::format("lanes {}", cpu_name(level));
    out.push_back({name,
                   [decoder, to, &set](std::uint8_t*, const Image& image) {
                     require(decoder->decode(*to, image.record, set.tables));
                   },
                   level == Cpu::scalar});
    if (level < Cpu::avx2) continue;
    out.push_back(part("values " + std::string(cpu_name(level)), set, Until::values, level, true));
  }
  return out;
}

std::vector<Contestant> steps(const Set& set) {
  std::vector<Contestant> out;
  for (const Cpu level : levels_from(Cpu::avx2)) {
    const std::string cpu = cpu_name(level);
    out.push_back(part("head " + cpu, set, Until::head, level, false));
    out.push_back(part("values " + cpu, set, Until::values, level, false));
    out.push_back(part("samples " + cpu, set, Until::samples, level, false));
    out.push_back(part("rgb " + cpu, set, Until::rgb, level, false));
    out.push_back(lanes_crop("crop " + cpu, set, level));
  }
  return out;
}

// Returns the partial decoder with all its steps plus the resize: the timed parts together must
// produce the final picture.
Contestant all_parts(const Set& set, Cpu level) {
  auto decoder = std::make_shared<PartialDecoder>(Until::rgb, level);
  auto resample = std::make_shared<Resample>(level);
  return {fmt::format("parts {}", cpu_name(level)),
          [decoder, resample, &set](std::uint8_t* to, const Image& image) {
            Picture picture(to);
            resample->begin(step_of(image.crop), image.size, picture);
            require(decoder->decode(*resample, image.record, image.crop, set.tables));
            resample->finish();
          }};
}

// Counts how many crops of each contestant differ from the first contestant's crops.
void compare(nlohmann::json& out, const std::vector<Contestant>& contestants,
             const std::vector<Image>& images) {
  std::vector<std::uint8_t> expected(kCropBytes), got(kCropBytes);
  for (const Contestant& contestant : contestants) out[contestant.name] = 0;
  for (const Image& image : images) {
    contestants[0].run(expected.data(), image);
    for (std::size_t i = 1; i < contestants.size(); ++i) {
      contestants[i].run(got.data(), image);
      add(out[contestants[i].name], expected != got);
    }
  }
}

// Runs whole passes over all images, the contestants in turn.
void race(nlohmann::json& out, const std::vector<Contestant>& contestants,
          const std::vector<Image>& images, int rounds) {
  std::vector<std::uint8_t> pixels(kCropBytes);
  for (int round = 0; round < rounds; ++round) {
    for (const Contestant& contestant : contestants) {
      if (contestant.slow && round > 0) continue;
      const double begin = cpu_s();
      for (const Image& image : images) contestant.run(pixels.data(), image);
      out[contestant.name].push_back(cpu_s() - begin);
    }
  }
}

void run(const char* source, const char* seed, int rounds, const std::string& tables, bool all) {
  Set set;
  read_images(set, source, std::strtoull(seed, nullptr, 10), tables == "train");
  const std::vector<Contestant> croppers = crops(set, all ? Cpu::scalar : Cpu::avx2);
  std::vector<Contestant> compared = croppers;
  if (all) {
    for (const Cpu level : levels_from(Cpu::avx2)) compared.push_back(all_parts(set, level));
  }
  compare(set.result["differing"], compared, set.images);
  race(set.result["crops"], croppers, set.images, rounds);
  if (all) {
    race(set.result["coefficients"], coefficients(set), set.images, rounds);
    race(set.result["stages"], steps(set), set.images, rounds);
  }
  fmt::print("{}\n", set.result.dump());
}

}  // namespace
}  // namespace tundish::bench

int main(int argc, char** argv) {
  try {
    if (argc != 6) {
      throw tundish::Error(tundish::ErrorCode::argument, {},
                           "see the first lines of bench/lanes/lanes.cpp");
    }
    tundish::bench::run(argv[1], argv[2], std::atoi(argv[3]), argv[4],
                        argv[5] == std::string("all"));
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_lanes: {}\n", error.what());
    return 1;
  }
}
