#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/temporary_folder.h"
#include "base/testing.h"
#include "data/source/arrays/stored_array.h"
#include "data/source/arrays/unpack.h"
#include "data/source/formats/cifar.h"
#include "data/source/formats/idx.h"
#include "data/source/formats/npy_arrays.h"
#include "data/source/memory_source.h"

using namespace tundish;

namespace {

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

template <class Open>
std::string refusal(Open open) {
  try {
    open();
  } catch (const Error& error) {
    return error_name(error.code()) + " " + error.reason();
  }
  return "opened";
}

// Reads sample i element by element: the reference implementation.
std::vector<std::byte> slow_sample(const std::vector<std::byte>& store, std::uint64_t offset,
                                   const ArrayLayout& layout, std::size_t axis, std::uint64_t i) {
  const std::size_t width = element_bytes(layout.type.element);
  std::vector<std::byte> out;
  std::vector<std::uint64_t> at(layout.type.shape.size(), 0);
  at[axis] = i;
  for (;;) {
    std::uint64_t from = offset;
    for (std::size_t a = 0; a < at.size(); ++a) from += at[a] * layout.steps[a];
    for (std::size_t b = 0; b < width; ++b) {
      out.push_back(store[from + (layout.big_endian ? width - 1 - b : b)]);
    }
    std::size_t a = at.size();
    while (a-- > 0) {
      if (a == axis) continue;
      if (++at[a] < layout.type.shape[a]) break;
      at[a] = 0;
    }
    if (a == static_cast<std::size_t>(-1)) return out;
  }
}

}  // namespace

TEST_CASE("stored arrays: samples along any axis are what an element-wise copy gives") {
  const TemporaryFolder folder;
  for (std::uint64_t round = 0; round < 200; ++round) {
    Random random({.seed = test_seed(), .sample = round}, 0);
    ArrayLayout layout;
    layout.type.element = static_cast<ArrayElement>(random.below(kArrayElements));
    const int axes = between(random, 1, 4);
    for (int a = 0; a < axes; ++a) layout.type.shape.push_back(1 + random.below(9));
    layout.big_endian = random.below(2) == 0;
    layout.steps =
        random.below(2) ? *c_order_steps(layout.type) : *fortran_order_steps(layout.type);
    const std::uint64_t offset = random.below(100);
    const auto bytes = random_bytes(offset + *array_bytes(layout.type) + random.below(50), random);
    const auto axis = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(axes)));
    SharedStore store = std::make_shared<ByteStore>(bytes, "memory");
    if (round % 4 == 0) store = std::make_shared<ByteStore>(folder.write("a", text_of(bytes)));
    StoredArray array;
    REQUIRE(!place_array(array, "test", layout, store, offset, round % 2 ? axis : axis - axes));
    std::uint64_t left = kMaxUnpackedBytes;
    if (round % 8 == 0) gather_scattered(array, "test", left);
    for (std::uint64_t i = 0; i < array.count; ++i) {
      std::vector<std::byte> sample;
      read_array(sample, array, i);
      CHECK(sample == slow_sample(bytes, offset, layout, static_cast<std::size_t>(axis), i));
    }
    const auto shorter = std::make_shared<ByteStore>(
        std::vector<std::byte>(offset + *array_bytes(layout.type) - 1), "memory");
    StoredArray cut;
    const auto fault = place_array(cut, "test", layout, shorter, offset, axis);
    REQUIRE(fault);
    CHECK(fault->code == ErrorCode::source_damaged);
  }
}

TEST_CASE("stored arrays: sizes over 64 bits, no axis, samples without elements are refused") {
  const auto store = std::make_shared<ByteStore>(std::vector<std::byte>(64), "memory");
  const auto code = [&](std::vector<std::uint64_t> shape, std::vector<std::uint64_t> steps) {
    StoredArray array;
    const ArrayLayout layout{{ArrayElement::int64, std::move(shape)}, std::move(steps)};
    const auto fault = place_array(array, "test", layout, store, 0, 0);
    return fault ? fault->code : ErrorCode::none;
  };
  CHECK(code({8}, {8}) == ErrorCode::none);
  CHECK(code({9}, {8}) == ErrorCode::source_damaged);
  CHECK(code({2, 1ull << 62, 4}, {8, 8, 8}) == ErrorCode::source_damaged);
  CHECK(code({2}, {UINT64_MAX - 4}) == ErrorCode::source_damaged);
  CHECK(code({}, {}) == ErrorCode::format_unsupported);
  CHECK(code({4, 0}, {0, 8}) == ErrorCode::format_unsupported);
  CHECK(code({50'000'001}, {0}) == ErrorCode::format_unsupported);
  CHECK(code({5}, {0}) == ErrorCode::format_unsupported);
}

TEST_CASE("CIFAR-10: a folder's training files in order, with class names") {
  const TemporaryFolder folder;
  std::string records[2];
  for (int i = 0; i < 6; ++i) {
    std::string record(1, static_cast<char>(i));
    for (int p = 0; p < 3072; ++p) record += static_cast<char>(i * 7 + p % 251);
    records[i / 4] += record;
  }
  folder.write("data_batch_1.bin", records[0]);
  folder.write("data_batch_2.bin", records[1]);
  folder.write("test_batch.bin", records[1]);
  folder.write("batches.meta.txt", "airplane\nautomobile\n\n");
  CHECK(refusal([&] { open_cifar(folder.path(), {}); }) ==
        "TND-314 CIFAR: its label is 2, but batches.meta.txt names the classes 0 to 1");
  folder.write("batches.meta.txt", "airplane\nautomobile\n\nbird\ncat\ndeer\ndog\n");
  const auto source = open_cifar(folder.path(), {});
  REQUIRE(source->count() == 6);
  CHECK(source->schema().classes ==
        std::vector<std::string>{"airplane", "automobile", "bird", "cat", "deer", "dog"});
  CHECK(source->schema().fields[0].channels_first);
  CHECK(source->info(5).label == 5);
  CHECK(source->key(5) == "00000005");
  REQUIRE(source->warnings().size() == 2);
  CHECK(source->warnings()[0].ends_with("the test set is the file test_batch.bin"));
  CHECK(
      source->warnings()[1].ends_with("2 of the 5 files of the training set exist; missing: "
                                      "data_batch_3.bin, data_batch_4.bin, data_batch_5.bin"));
  Sample sample;
  source->read(sample, 5);
  CHECK(text_of(sample.fields[0]) == records[1].substr(3074));
  Extent extent;
  REQUIRE(source->extent(5, 0, extent));
  CHECK(extent.offset == 3074);
  CHECK(extent.file.ends_with("data_batch_2.bin"));
  CHECK(open_cifar(folder / "test_batch.bin", {})->count() == 2);
  folder.write("cut.bin", records[0].substr(1));
  CHECK(refusal([&] { open_cifar(folder / "cut.bin", {}); }).starts_with("TND-314 CIFAR: 12,291"));
}

TEST_CASE("CIFAR-100: the label is the fine one, coarse_label a number") {
  const TemporaryFolder folder;
  std::string records;
  for (int i = 0; i < 3; ++i) {
    records += {static_cast<char>(i), static_cast<char>(10 + i)};
    records += std::string(3072, static_cast<char>(i));
  }
  const auto source = open_cifar(folder.write("train.bin", records), {});
  REQUIRE(source->count() == 3);
  CHECK(source->info(2).label == 12);
  CHECK(source->schema().fields[2] == Field{"coarse_label", FieldType::number});
  Sample sample;
  source->read(sample, 2);
  CHECK(load<std::uint64_t>(sample.fields[2].data()) == std::bit_cast<std::uint64_t>(2.0));

  folder.write("coarse_label_names.txt", "fish\nflower\ntree\n");
  SourceOptions coarse;
  coarse.label = "coarse_label";
  CHECK(open_cifar(folder / "train.bin", coarse)->schema().classes.back() == "tree");
  CHECK(open_cifar(folder / "train.bin", {})->schema().classes.empty());
  folder.write("coarse_label_names.txt", "fish\nflower\n");
  const std::string why =
      "TND-314 CIFAR: its coarse_label is 2, but coarse_label_names.txt names the classes 0 to 1";
  CHECK(refusal([&] { open_cifar(folder / "train.bin", {}); }) == why);
  CHECK(refusal([&] { open_cifar(folder / "train.bin", coarse); }) == why);
}

TEST_CASE("IDX: images with the labels beside them; what lies is refused") {
  const TemporaryFolder folder;
  const std::string head("\0\0\x08\x03\0\0\0\x02\0\0\0\x02\0\0\0\x03", 16);
  folder.write("t10k-images-idx3-ubyte", head + "abcdefghijkl");
  folder.write("t10k-labels-idx1-ubyte", std::string("\0\0\x08\x01\0\0\0\x02\x07\x04", 10));
  const auto source = open_idx(folder / "t10k-images-idx3-ubyte", {});
  REQUIRE(source->count() == 2);
  CHECK(source->info(1).label == 4);
  CHECK(source->info(1).width == 3);
  Sample sample;
  source->read(sample, 1);
  CHECK(text_of(sample.fields[0]) == "ghijkl");
  const auto code = [&](const std::string& bytes) {
    return refusal([&] { open_idx(folder.write("x-idx3-ubyte", bytes), {}); });
  };
  CHECK(code(head + "abcdefghijk").starts_with("TND-314 IDX: the elements"));
  CHECK(code(head + "abcdefghijklm").starts_with("TND-314 IDX: 1 bytes follow"));
  CHECK(code(head.substr(0, 15)).starts_with("TND-314 IDX: the file ends"));
  CHECK(code("\x01" + head).starts_with("TND-314 IDX: it does not begin"));
  const std::string huge("\0\0\x0e\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 16);
  CHECK(code(huge).starts_with("TND-314 IDX: its shape is over 64 bits"));
}

TEST_CASE("IDX: what is compressed is unpacked within the limit") {
  const TemporaryFolder folder;
  const std::string path = folder.write(
      "a.gz", std::string("\037\213\010\000\000\000\000\000\002\003\113\114\034\005\243\140\024\014"
                          "\167\000\000\003\332\070\232\350\003\000\000",
                          29));  // 1,000 times 'a'
  const auto open = [&](std::uint64_t& left, std::optional<std::uint64_t> declared) {
    const SharedStore store =
        open_unpacked(path, "test", left, [&](Bytes first) -> std::optional<std::uint64_t> {
          CHECK(first.size() > 0);
          return declared;
        });
    CHECK(store->memory().size() == store->size());
    return store->size();
  };
  std::uint64_t left = 1000;
  CHECK(open(left, 1000) == 1000);
  CHECK(left == 0);
  for (const std::uint64_t declared : {std::uint64_t{1001}, std::uint64_t{1} << 60}) {
    CHECK(open(left = 1000, declared) == 1000);
  }
  left = 999;
  CHECK(refusal([&] { open(left, 1000); }) ==
        "TND-315 test: it holds over 999 bytes: decompress it first");
}

TEST_CASE(".npy: samples on any axis, labels beside it") {
  const TemporaryFolder folder;
  const std::string pixels = "abcdefghijklmnopqrstuvwx";
  const auto head = [](std::vector<std::uint64_t> shape, ArrayElement element) {
    return npy_head({element, std::move(shape)});
  };
  folder.write("x.npy", head({2, 3, 4}, ArrayElement::uint8) + pixels);
  folder.write("y.npy", head({2}, ArrayElement::int16) + std::string("\x05\0\x06\0", 4));
  const auto source = open_npy(folder / "x.npy", {});
  REQUIRE(source->count() == 2);
  CHECK(source->info(1).label == 6);
  Sample sample;
  source->read(sample, 1);
  CHECK(text_of(sample.fields[0]) == pixels.substr(12));
  SourceOptions last;
  last.axis = -1;
  const auto columns = open_npy(folder / "x.npy", last);
  REQUIRE(columns->count() == 4);
  columns->read(sample, 1);
  CHECK(text_of(sample.fields[0]) == "bfjnrv");
  REQUIRE(columns->warnings().size() == 2);  // y.npy has another length
  CHECK(columns->warnings()[1].find("its samples have no labels") != std::string::npos);

  const auto code = [&](const std::string& bytes) {
    return refusal([&] { open_npy(folder.write("bad.npy", bytes), {}); });
  };
  const std::string good = head({2, 3, 4}, ArrayElement::uint8);
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string out = good + pixels;
    return out.replace(out.find(from), from.size(), to);
  };
  CHECK(code(good + pixels.substr(1)).starts_with("TND-314 NumPy .npy: the elements"));
  CHECK(code(good.substr(0, 40)).starts_with("TND-314 NumPy .npy: the file ends"));
  CHECK(code(changed("|u1", "|O8")).find("Python objects are not loaded") != std::string::npos);
  CHECK(code(changed("|u1", "<U1")).starts_with("TND-315"));
  CHECK(code(changed("'shape'", "'shapE'")).starts_with("TND-314"));
  CHECK(code(changed("\x01", "\x07")).starts_with("TND-315 NumPy .npy: .npy version 7.0"));
}
