#include "codec/decode/npy.h"

#include <doctest/doctest.h>

#include <cstring>

#include "codec/decode/test_images.h"

namespace tundish {
namespace {

constexpr const char* kGood = "{'descr': '|u1', 'fortran_order': False, 'shape': (4, 5, 3), }";

std::uint8_t sample(std::size_t i) { return static_cast<std::uint8_t>(i * 37 & 0xff); }

}  // namespace

TEST_CASE("a .npy of three channels is handed over as it is") {
  for (const int version : {1, 2, 3}) {
    const ByteVector bytes = make_npy(kGood, 60, version);
    ImageHeader header;
    CHECK_FALSE(read_header(header, bytes).has_value());
    CHECK(header.codec == Codec::npy);
    CHECK(header.width == 5);
    CHECK(header.height == 4);
    const auto pixels = decode_window(bytes, {1, 2, 3, 2});
    for (std::size_t y = 0; y < 2; ++y) {
      for (std::size_t i = 0; i < 9; ++i) {
        CHECK(pixels[y * 9 + i] == sample((y + 2) * 15 + 3 + i));
      }
    }
  }
}

TEST_CASE("a .npy of one channel becomes gray RGB") {
  for (const char* shape : {"(40, 5)", "(40, 5, 1)", "(40,5,)"}) {
    const std::string text =
        std::string("{\"shape\": ") + shape + ", 'fortran_order':False, 'descr':'|u1'}";
    const auto pixels = decode_window(make_npy(text, 200), {1, 3, 4, 37});
    for (std::size_t y = 0; y < 37; ++y) {
      for (std::size_t i = 0; i < 12; ++i) {
        CHECK(pixels[y * 12 + i] == sample((y + 3) * 5 + 1 + i / 3));
      }
    }
  }
}

TEST_CASE("arrays that are no image and damaged files give different errors") {
  const auto code = [](const char* text, std::size_t bytes, int version = 1) {
    return fault_of(make_npy(text, bytes, version));
  };
  using enum ErrorCode;
  CHECK(code(kGood, 60) == none);
  CHECK(code(kGood, 59) == image_cut_off);
  CHECK(code(kGood, 61) == image_damaged);
  CHECK(code(kGood, 60, 4) == codec_unsupported);
  CHECK(code("{'descr': '<f4', 'fortran_order': False, 'shape': (4, 5)}", 80) == image_kind);
  CHECK(code("{'descr': '|u1', 'fortran_order': True, 'shape': (4, 5)}", 20) == image_kind);
  CHECK(code("{'descr': '|u1', 'fortran_order': False, 'shape': (20,)}", 20) == image_kind);
  CHECK(code("{'descr': '|u1', 'fortran_order': False, 'shape': ()}", 1) == image_kind);
  CHECK(code("{'descr': '|u1', 'fortran_order': False, 'shape': (1, 4, 5, 3)}", 60) == image_kind);
  CHECK(code("{'descr': '|u1', 'fortran_order': False, 'shape': (4, 5, 4)}", 80) == image_kind);
  CHECK(code("{'descr': '|u1', 'fortran_order': False, 'shape': (0, 5)}", 0) == image_header);
  CHECK(code("{'descr': '|u1', 'fortran_order': False, 'shape': (4, 5)", 20) == image_header);
  CHECK(code("{'descr': '|u1', 'fortran_order': False, 'shape': (4, -5)}", 20) == image_header);
  CHECK(code("{'descr': '|u1', 'descr': '|u1', 'shape': (4, 5)}", 20) == image_header);
  CHECK(code("{'descr': '|u1', 'fortran_order': 0, 'shape': (4, 5)}", 20) == image_header);
  CHECK(code("{'descr': '|u1', 'fortran_order': False, 'shape': (4, 5)} x", 20) == image_header);
  CHECK(code("{'descr': [('a', '|u1')], 'fortran_order': False, 'shape': (4, 5)}", 20) ==
        image_header);
  CHECK(code("{'descr': '|u1', 'fortran_order': False, 'shape': (4294967295, 4294967295, 3)}",
             20) == image_cut_off);
  CHECK(code("{'descr': '|u1', 'fortran_order': False, 'shape': (99999999999999999999, 1)}", 20) ==
        image_header);
}

TEST_CASE("a .npy cut anywhere is a fault") {
  const ByteVector bytes = make_npy(kGood, 60, 2);
  for (std::size_t size = 6; size < bytes.size(); ++size) {
    CHECK(fault_of(Bytes(bytes).first(size)) == ErrorCode::image_cut_off);
  }
}

TEST_CASE("the length of an array of any dtype is checked") {
  const auto file = [](const std::string& descr, const std::string& shape, std::size_t bytes) {
    const std::string header =
        "{'descr': " + descr + ", 'fortran_order': True, 'shape': " + shape + "}\n";
    const std::string text = std::string("\x93NUMPY\x01\x00", 8) +
                             static_cast<char>(header.size()) + '\0' + header +
                             std::string(bytes, 'x');
    std::vector<std::byte> out(text.size());
    std::memcpy(out.data(), text.data(), text.size());
    return out;
  };
  for (const char* descr : {"'<f4'", "'>i4'", "'<U1'", "'|S4'", "'|V4'"}) {
    CHECK(!check_npy(file(descr, "(2, 3, 1, 5)", 120)));
    const auto fault = check_npy(file(descr, "(2, 3, 1, 5)", 119));
    REQUIRE(fault);
    CHECK(fault->reason == "119 bytes of values, fewer than its shape says");
  }
  CHECK(!check_npy(file("'<M8[ns]'", "()", 8)));
  CHECK(check_npy(file("'<M8[ns]'", "()", 7)));
  CHECK(!check_npy(file("'|b1'", "(0, 9999999999, 9999999999)", 0)));
  CHECK(check_npy(file("'<f8'", "(9999999999, 9999999999)", 8)));
  CHECK(check_npy(file("'|O'", "(1,)", 100))->reason.find("Python objects") != std::string::npos);
  CHECK(!check_npy(file("[('a', '<f4')]", "(1,)", 4)));
  CHECK(check_npy(file("nothing", "(1,)", 4)));
  CHECK(check_npy({})->reason == "it is no .npy file");
  const auto whole = file("'<f4'", "(1,)", 4);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CHECK(check_npy(Bytes(whole).first(size)));
  }
}

}  // namespace tundish
