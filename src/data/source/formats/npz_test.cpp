#include "data/source/formats/npz.h"

#include <doctest/doctest.h>

#include "base/temporary_folder.h"
#include "data/source/zip/zip_maker.h"

using namespace tundish;

namespace {

std::string array(ArrayElement element, std::vector<std::uint64_t> shape,
                  const std::string& bytes) {
  return npy_head({element, std::move(shape)}) + bytes;
}

const std::string kPixels = "abcdefghijklmnopqrstuvwx";

std::string images() { return array(ArrayElement::uint8, {2, 3, 4}, kPixels); }
std::string labels() { return array(ArrayElement::uint8, {2}, "\x05\x06"); }

std::string refusal(const TemporaryFolder& folder, const std::string& bytes) {
  try {
    open_npz(folder.write("bad.npz", bytes), {});
  } catch (const Error& error) {
    return error_name(error.code()) + " " + error.reason();
  }
  return "opened";
}

}  // namespace

TEST_CASE(".npz: stored and deflated members give the same samples") {
  const TemporaryFolder folder;
  ZipMaker stored, deflated;
  for (const auto& [name, bytes] : {std::pair{"x.npy", images()}, std::pair{"y.npy", labels()}}) {
    stored.add(name, bytes);
    deflated.add(name, bytes, 8, ZipMaker::deflated(bytes));
  }
  stored.add("w.npy", array(ArrayElement::float32, {3, 1}, "............"));
  const auto a = open_npz(folder.write("a.npz", stored.finish()), {});
  const auto b = open_npz(folder.write("b.npz", deflated.finish()), {});
  REQUIRE(a->count() == 2);
  REQUIRE(b->count() == 2);
  CHECK(a->schema().fields == b->schema().fields);
  CHECK(a->info(1).label == 6);
  CHECK(a->warnings().size() == 1);  // w has three entries
  Sample from_a, from_b;
  a->read(from_a, 1);
  b->read(from_b, 1);
  CHECK(from_a.fields == from_b.fields);
  CHECK(from_a.fields[0].front() == std::byte{'m'});
  Extent extent;
  CHECK(a->extent(1, 0, extent));
  CHECK(!b->extent(1, 0, extent));
}

TEST_CASE("zip: what lies is refused") {
  const TemporaryFolder folder;
  ZipMaker maker;
  maker.add("x.npy", images());
  maker.add("y.npy", labels());
  const std::string good = maker.finish();
  REQUIRE(refusal(folder, good) == "opened");
  for (std::size_t cut = 1; cut < good.size(); ++cut) {
    CHECK(refusal(folder, good.substr(0, cut)).starts_with("TND-314 NumPy .npz: zip: no end"));
  }
  const std::size_t entry = good.find("PK\x01\x02"), second = good.find("PK\x01\x02", entry + 1);
  const std::size_t end = good.find("PK\x05\x06");
  const auto changed = [&](std::size_t at, const std::string& to) {
    std::string out = good;
    return refusal(folder, out.replace(at, to.size(), to));
  };
  CHECK(changed(entry + 8, "\x01").starts_with("TND-315 NumPy .npz: zip: encrypted"));
  CHECK(changed(entry + 10, "\x0c").starts_with("TND-315 NumPy .npz: zip: compression method 12"));
  CHECK(changed(entry + 20, "\x01").starts_with("TND-314 NumPy .npz: zip: two sizes contradict"));
  CHECK(changed(entry + 46, "z").find("differs from the directory") != std::string::npos);
  CHECK(changed(entry + 42, "\xff\xff\xff\x0f").find("leaves the file") != std::string::npos);
  CHECK(changed(end + 16, "\xff\xff\xff\x0f").find("the directory leaves") != std::string::npos);
  CHECK(changed(end + 10, "\xf0\xff").find("the directory leaves") != std::string::npos);
  // The second entry becomes a copy of the first: the same member twice.
  CHECK(changed(second, good.substr(entry, second - entry)).find("overlap") != std::string::npos);
}

TEST_CASE("zip: bombs, wrong checksums and data that end early are refused") {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& bytes, const std::string& packed) {
    ZipMaker maker;
    maker.add("x.npy", bytes, 8, packed);
    return refusal(folder, maker.finish());
  };
  const std::string bytes = images(), packed = ZipMaker::deflated(bytes);
  CHECK(refused(bytes, packed) == "opened");
  std::string other = bytes;
  other.back() = 'X';
  CHECK(refused(other, packed).find("fails its checksum") != std::string::npos);
  CHECK(refused(bytes, packed.substr(0, 30)).find("cannot be unpacked") != std::string::npos);
  CHECK(refused(bytes.substr(1), packed).find("cannot be unpacked") != std::string::npos);
  CHECK(refused(bytes + "X", packed).find("cannot be unpacked") != std::string::npos);
  CHECK(refused(std::string(1 << 20, 'a'), "xy").find("cannot be as large") != std::string::npos);
}
