#include "cuda/decode/batch_plan.h"

#include <doctest/doctest.h>

#include <cstring>

#include "cuda/decode/batch_reference.h"
#include "cuda/decode/testing.h"

namespace tundish::cuda {
namespace {

struct Image {
  std::vector<std::byte> record;
  View view;
  ElementPlace place;
};

std::size_t at(std::uint64_t i) { return static_cast<std::size_t>(i); }

std::vector<std::byte> gathered(BatchPlan& plan) {
  // Aligned to 256 bytes, as page-locked memory is.
  std::vector<std::byte> buffer(at(plan.layout().bytes));
  plan.gather(buffer.data());
  return buffer;
}

View center_crop_of(const std::vector<std::byte>& record, int side) {
  View view(size_of(record));
  view.crop({0, 0, std::min(side, view.size().width), std::min(side, view.size().height)});
  view.resize({16, 16}, Filter::bilinear);
  return view;
}

}  // namespace

TEST_CASE("a planned batch, decoded by the slow twin, equals the CPU path") {
  const std::uint64_t seed = test_seed();
  CAPTURE(seed);
  Random random({.seed = seed}, 0);
  const lanes::Tables& tables = lanes::builtin_tables();
  int on_gpu = 0;
  for (int round = 0; round < 6; ++round) {
    const PixelTable table = random_table(random);
    std::vector<Image> images;
    std::uint64_t elements = 0;
    BatchPlan plan;
    plan.begin();
    for (int i = 0; i < 8; ++i) {
      std::vector<std::byte> record = random_record(random, 200, tables);
      const View view = random_view(random, size_of(record), 60);
      const ElementPlace place = next_place(random, view.size(), elements);
      images.push_back({std::move(record), view, place});
    }
    std::vector<std::byte> expected(at(elements) * dtype_bytes(table.dtype)), got(expected.size());
    CpuPath path;
    for (const Image& image : images) {
      const Added added = plan.add(image.record, image.view, image.place, true);
      REQUIRE_FALSE(added.fault.has_value());
      CHECK((added.made_by == MadeBy::cpu) == (image.view.steps().size() > 1));
      if (added.made_by == MadeBy::cpu) continue;
      ++on_gpu;
      CHECK_FALSE(path.make(expected.data(), image.record, image.view, table, image.place, tables));
    }
    plan.finish();
    const auto buffer = gathered(plan);
    const auto errors =
        run_batch_reference(got.data(), buffer.data(), plan.layout(), tables, table);
    CHECK(std::count(errors.begin(), errors.end(), kNoError) == std::ssize(errors));
    CHECK(got == expected);
  }
  CHECK(on_gpu > 0);
}

TEST_CASE("a damaged record is refused by the plan or by its unit, with the CPU's error text") {
  const std::uint64_t seed = test_seed();
  CAPTURE(seed);
  Random random({.seed = seed}, 0);
  const lanes::Tables& tables = lanes::builtin_tables();
  const PixelTable table = pixel_table({});
  int refused = 0;
  for (int round = 0; round < 150; ++round) {
    std::vector<std::byte> record = random_record(random, 100, tables);
    const View view = center_crop_of(record, 90);
    const std::vector<std::byte> before = record;
    record[at(random.below(record.size()))] ^= static_cast<std::byte>(1 << random.below(8));
    if (!seal_again(record) || size_of(record) != size_of(before)) continue;
    CpuPath path;
    std::vector<std::byte> expected(3 * 16 * 16), got(expected.size());
    const ElementPlace place = {0, 16, 1, 256};
    const auto fault = path.make(expected.data(), record, view, table, place, tables);
    BatchPlan plan;
    plan.begin();
    const Added added = plan.add(record, view, place, true);
    std::string reason = added.fault ? added.fault->reason : "";
    if (!added.fault) {
      plan.finish();
      const auto buffer = gathered(plan);
      const auto errors =
          run_batch_reference(got.data(), buffer.data(), plan.layout(), tables, table);
      if (errors[0] != kNoError) {
        lanes::Record read;
        REQUIRE_FALSE(read.read(record));
        reason =
            read.unit_fault(static_cast<int>(errors[0] & 0xffff), static_cast<int>(errors[0] >> 16))
                .reason;
      }
    }
    CHECK(reason == (fault ? fault->reason : ""));
    if (!fault) CHECK(got == expected);
    refused += fault.has_value();
  }
  CHECK(refused > 0);
}

TEST_CASE("a full batch refuses another image and does not change") {
  Random random({.seed = 1}, 0);
  const auto record = random_record(random, 200, lanes::builtin_tables());
  const View view(size_of(record));
  BatchPlan plan;
  plan.begin({.images = 2});
  CHECK(plan.add(record, view, {}).made_by == MadeBy::gpu);
  CHECK(plan.add(record, view, {}).made_by == MadeBy::gpu);
  CHECK(plan.add(record, view, {}).made_by == MadeBy::full);
  CHECK(plan.images().size() == 2);
  plan.finish();
  const std::uint64_t two = plan.layout().bytes;
  for (const std::uint64_t times : {1u, 2u}) {
    plan.begin({.buffer_bytes = times * two});
    while (plan.add(record, view, {}).made_by == MadeBy::gpu) {
    }
    plan.finish();
    CHECK(plan.layout().bytes <= times * two);
    CHECK(plan.images().size() + 1 >= 2 * times);  // the size estimate for refusals is generous
  }
}

TEST_CASE("of resident records the host has the tasks only") {
  Random random({.seed = 4}, 0);
  const auto record = random_record(random, 200, lanes::builtin_tables());
  const View view(size_of(record));
  BatchPlan plan;
  plan.begin({}, true);
  for (int i = 0; i < 3; ++i)
    REQUIRE(plan.add_resident(record, 0, view, {}).made_by == MadeBy::gpu);
  plan.finish();
  const BatchLayout three = plan.layout();
  CHECK(three.host_at == three.units_at);
  CHECK(three.host_bytes() == three.bytes - three.units_at);
  std::vector<std::byte> host(at(three.host_bytes()));  // AddressSanitizer finds an extra byte
  plan.gather(host.data());
  CHECK(std::memcmp(host.data(), plan.units().data(), sizeof(UnitTask)) == 0);

  plan.begin({.host_bytes = three.host_bytes()}, true);
  while (plan.add_resident(record, 0, view, {}).made_by == MadeBy::gpu) {
  }
  plan.finish();
  CHECK(plan.layout().host_bytes() <= three.host_bytes());
  CHECK(plan.images().size() >= 1);
}

TEST_CASE("rows with a wrong checksum are found only when asked for, the head always") {
  Random random({.seed = 2}, 0);
  auto record = random_record(random, 200, lanes::builtin_tables());
  const View view(size_of(record));
  record.back() ^= std::byte{1};
  BatchPlan plan;
  plan.begin();
  CHECK_FALSE(plan.add(record, view, {}, false).fault);
  CHECK(plan.add(record, view, {}, true).fault->code == ErrorCode::record_checksum);
  CHECK(plan.images().size() == 1);
  record[3] ^= std::byte{1};
  CHECK(plan.add(record, view, {}, false).fault);
}

TEST_CASE("units come longest first and each is where its task says") {
  Random random({.seed = 3}, 0);
  const lanes::Tables& tables = lanes::builtin_tables();
  std::vector<std::vector<std::byte>> records;
  BatchPlan plan;
  plan.begin();
  for (int i = 0; i < 5; ++i) records.push_back(random_record(random, 400, tables));
  for (const auto& record : records)
    CHECK(plan.add(record, View(size_of(record)), {}).made_by == MadeBy::gpu);
  plan.finish();
  const auto buffer = gathered(plan);
  int last = 65536;
  for (const UnitTask& unit : plan.units()) {
    CHECK(unit.bytes / 64 <= last / 64);
    last = unit.bytes;
    lanes::Record record;
    REQUIRE_FALSE(record.read(records[unit.image]));
    const Bytes bytes = record.unit(unit.x, unit.y);
    REQUIRE(bytes.size() == unit.bytes);
    CHECK(std::memcmp(buffer.data() + unit.offset, bytes.data(), bytes.size()) == 0);
  }
}

// Two units with odd lengths, whose sum is still consistent, before the units that the crop needs.
TEST_CASE("a kept record with odd lengths outside the crop is left to the CPU") {
  Random random({.seed = 8}, 0);
  const lanes::Tables& tables = lanes::builtin_tables();
  int refused = 0;
  for (int round = 0; round < 200; ++round) {
    std::vector<std::byte> record = random_record(random, 300, tables);
    lanes::Record before;
    REQUIRE_FALSE(before.read(record).has_value());
    const int across = before.geometry().units_x;
    if (across < 4) continue;
    const std::size_t units = at(static_cast<std::uint64_t>(before.geometry().units()));
    std::byte* const lengths = record.data() + before.head_bytes() - 4 - 2 * units;
    const auto change = [&](std::size_t unit, int by) {
      const auto length = load<std::uint16_t>(lengths + 2 * unit);
      store(lengths + 2 * unit, static_cast<std::uint16_t>(length + by));
    };
    change(0, 1);
    change(at(static_cast<std::uint64_t>(across - 1)), -1);
    REQUIRE(seal_again(record));
    const int unit_width = before.geometry().unit_width;
    View view(size_of(record));  // only units between the two
    view.crop({unit_width + 2 * lanes::kBlock, 0, lanes::kBlock, 1});
    BatchPlan plan;
    plan.begin({}, true);
    const Added added = plan.add_resident(record, 0, view, {});
    CHECK((added.fault.has_value() || added.made_by == MadeBy::gpu));
    for (const UnitTask& unit : plan.units()) CHECK(unit.bytes % 2 == 0);
    refused += added.fault.has_value();
  }
  CHECK(refused > 0);
}

}  // namespace tundish::cuda
