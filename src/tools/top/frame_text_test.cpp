#include "tools/top/frame_text.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "base/utf8.h"
#include "tools/top/snapshot_json.h"

namespace tundish {
namespace {

Snapshot busy_machine() {
  Snapshot out;
  out.seconds = 1;
  out.cpu_busy = 0.5;
  out.cpu_waiting = 0.02;
  out.group_cpus = 1.5;
  out.host.group.quota = 4;
  out.host.memory_total = 64'000'000'000;
  out.host.memory_available = 32'000'000'000;
  out.disks.push_back({.name = "nvme0n1", .reads = 11'200, .read_bytes = 1.2e9, .busy = 0.88});
  Gpu gpu;
  gpu.name = "Fake\x1b[2J";
  gpu.busy = 63;
  gpu.slowdown = 0x40;
  out.gpus.push_back(gpu);
  LoaderRate rate;
  rate.loader.process = 4242;
  rate.loader.command = "python \x1b]0;title\x07 \xff";
  rate.loader.figures.source =
      "/a/very/long/path/to/the/photos/of/a/data/set/\x1b[31m\xff/train.tnd";
  rate.loader.figures.progress.epoch = 2;
  rate.loader.figures.progress.position = 41;
  rate.loader.figures.progress.epoch_samples = 100;
  rate.samples = 5210;
  rate.waiting = 0.12;
  rate.age_s = 30;
  out.loaders.push_back(rate);
  return out;
}

TEST_CASE("a frame shows GPUs, host, group, disks and loaders") {
  std::string all;
  for (const std::string& line : frame_lines(busy_machine(), {.width = 200})) all += line + '\n';
  for (const char* part : {"gpu 0", " 63 %", "THROTTLED", "cpu", " 50 %", "1.50 of 4 CPUs",
                           "nvme0n1", "1.2 GB/s in 11,200 reads/s", "4242", "train.tnd", "5,210",
                           " 12 %", "2  41 %", "no batch for 30 s"}) {
    CHECK_MESSAGE(all.find(part) != all.npos, part);
  }
}

TEST_CASE("colors mark names, bars, warnings and waiting, and change no text") {
  for (const bool blocks : {false, true}) {
    for (const double waiting : {0.05, 0.12, 0.7}) {
      Snapshot snapshot = busy_machine();
      snapshot.loaders[0].waiting = waiting;
      std::string all;
      for (const std::string& line : frame_lines(snapshot, {.width = 200, .blocks = blocks})) {
        const std::string colored = in_color(line);
        all += colored + '\n';
        std::string plain;
        for (std::size_t i = 0; i < colored.size(); ++i) {
          if (colored[i] == '\x1b')
            i = colored.find('m', i);
          else
            plain += colored[i];
        }
        CHECK(plain == line);
      }
      for (const char* part : {"\x1b[1mgpu\x1b[0m", "\x1b[1mcpu\x1b[0m", "\x1b[31mTHROTTLED\x1b[0m",
                               "[\x1b[36m", "\x1b[31mno batch for\x1b[0m"}) {
        CHECK_MESSAGE(all.find(part) != all.npos, part);
      }
      CHECK((all.find("\x1b[33m  12 %\x1b[0m") != all.npos) == (waiting == 0.12));
      CHECK((all.find("\x1b[31m  70 %\x1b[0m") != all.npos) == (waiting == 0.7));
    }
  }
}

TEST_CASE("no line is wider than the screen, and none has a control character") {
  for (const std::size_t width : {0u, 1u, 10u, 40u, 80u, 200u}) {
    for (const bool blocks : {false, true}) {
      for (const std::string& line :
           frame_lines(busy_machine(), {.width = width, .blocks = blocks})) {
        const auto characters = std::count_if(line.begin(), line.end(), [](char c) {
          return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
        });
        CHECK(static_cast<std::size_t>(characters) <= width);
        CHECK(std::none_of(line.begin(), line.end(), [](char c) { return c >= 0 && c < 0x20; }));
      }
    }
  }
  CHECK(cut_to_width("a·b", 2) == "a·");
}

TEST_CASE("without a loader a line says so") {
  CHECK(frame_lines({}, {}).back().find("no loader") != std::string::npos);
}

TEST_CASE("a snapshot is JSON whatever the names are, and null is what is not known") {
  const std::string text = snapshot_json(busy_machine()).dump();  // throws if the text is not UTF-8
  const auto read = nlohmann::json::parse(text);
  CHECK(read["loaders"][0]["process"] == 4242);
  CHECK(read["loaders"][0]["samples_per_second"] == 5210);
  CHECK(read["loaders"][0]["stats"].contains("wait_p99_s"));
  CHECK(read["gpus"][0]["busy_percent"] == 63);
  CHECK(read["gpus"][0]["power_watts"].is_null());
  CHECK(snapshot_json({})["host"]["cpu_busy"].is_null());
}

}  // namespace
}  // namespace tundish
