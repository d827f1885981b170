#include "data/source/decompress.h"

#include <bzlib.h>
#include <doctest/doctest.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include "base/random.h"
#include "base/temporary_folder.h"
#include "data/source/formats/tar/tar_maker.h"
#include "data/source/memory_stream.h"
#include "data/source/open.h"

namespace tundish {
namespace {

constexpr Compression kAll[] = {Compression::gzip, Compression::xz, Compression::zstd,
                                Compression::bzip2};

std::string compress_text(Compression compression, const std::string& text) {
  std::string out(text.size() + text.size() / 10 + 4096, '\0');
  std::size_t size = out.size();
  switch (compression) {
    case Compression::gzip: {
      z_stream stream{};
      REQUIRE(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
      stream.avail_in = static_cast<uInt>(text.size());
      stream.next_out = reinterpret_cast<Bytef*>(out.data());
      stream.avail_out = static_cast<uInt>(out.size());
      REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
      size = stream.total_out;
      deflateEnd(&stream);
      break;
    }
    case Compression::xz:
      size = 0;
      REQUIRE(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC32, nullptr,
                                      reinterpret_cast<const std::uint8_t*>(text.data()),
                                      text.size(), reinterpret_cast<std::uint8_t*>(out.data()),
                                      &size, out.size()) == LZMA_OK);
      break;
    case Compression::zstd: {
      ZSTD_CCtx* context = ZSTD_createCCtx();
      ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
      size = ZSTD_compress2(context, out.data(), out.size(), text.data(), text.size());
      ZSTD_freeCCtx(context);
      REQUIRE_FALSE(ZSTD_isError(size));
      break;
    }
    case Compression::bzip2: {
      auto length = static_cast<unsigned>(out.size());
      REQUIRE(BZ2_bzBuffToBuffCompress(out.data(), &length, const_cast<char*>(text.data()),
                                       static_cast<unsigned>(text.size()), 1, 0, 0) == BZ_OK);
      size = length;
      break;
    }
    case Compression::none:
      break;
  }
  out.resize(size);
  return out;
}

std::string decompress_text(Compression compression, const std::string& compressed,
                            std::size_t piece = 1000) {
  MemoryStream in(bytes_of(compressed));
  const auto stream = decompress(in, compression, "test");
  std::string out;
  std::vector<std::byte> buffer(piece);
  while (true) {
    const std::size_t got = stream->read(buffer);
    out += text_of(Bytes(buffer).first(got));
    CHECK(stream->offset() == out.size());
    if (got < piece) return out;
  }
}

ErrorCode code_of(Compression compression, const std::string& compressed) {
  try {
    decompress_text(compression, compressed);
  } catch (const Error& error) {
    CHECK(error.where().offset.value() <= compressed.size());
    return error.code();
  }
  return ErrorCode::none;
}

// Repeating words and non-repeating numbers yield several blocks of each kind.
std::string sample_text(std::size_t bytes) {
  Random random({.seed = 3}, 0);
  std::string text;
  while (text.size() < bytes)
    text += random.below(2) != 0 ? "tundish " : std::to_string(random.next());
  return text;
}

}  // namespace

TEST_CASE("what was compressed comes back, in pieces of any size") {
  const std::string text = sample_text(500'000);
  for (const Compression compression : kAll) {
    CAPTURE(compression_name(compression));
    const std::string compressed = compress_text(compression, text);
    CHECK(sniff_compression(bytes_of(compressed)) == compression);
    for (const std::size_t piece : {1000u, 65'536u, 600'000u}) {
      CHECK(decompress_text(compression, compressed, piece) == text);
    }
    CHECK(decompress_text(compression, compress_text(compression, "")) == "");
  }
}

TEST_CASE("concatenated parts are read as one, and padding is skipped") {
  for (const Compression compression : kAll) {
    CAPTURE(compression_name(compression));
    const std::string one = compress_text(compression, "first ");
    const std::string two = compress_text(compression, sample_text(300'000));
    CHECK(decompress_text(compression, one + two + one) ==
          "first " + sample_text(300'000) + "first ");
    CHECK(decompress_text(compression, one + std::string(400'000, '\0')) == "first ");
    CHECK(code_of(compression, one + "other things") == ErrorCode::compression_damaged);
  }
}

TEST_CASE("compressed data cut anywhere are refused") {
  for (const Compression compression : kAll) {
    CAPTURE(compression_name(compression));
    const std::string compressed = compress_text(compression, sample_text(300));
    for (std::size_t length = 0; length < compressed.size(); ++length) {
      REQUIRE(code_of(compression, compressed.substr(0, length)) == ErrorCode::compression_damaged);
    }
  }
}

TEST_CASE("changed bytes of compressed data are refused or change nothing") {
  const std::string text = sample_text(300);
  for (const Compression compression : kAll) {
    CAPTURE(compression_name(compression));
    const std::string compressed = compress_text(compression, text);
    for (std::size_t at = 0; at < compressed.size(); ++at) {
      std::string changed = compressed;
      changed[at] = static_cast<char>(changed[at] ^ 0x5a);
      if (code_of(compression, changed) == ErrorCode::none) {
        REQUIRE(decompress_text(compression, changed) == text);  // the time in the gzip header
      }
    }
  }
}

TEST_CASE("data that would take too much memory are refused") {
  const auto reason = [](Compression compression, const std::string& compressed) {
    try {
      decompress_text(compression, compressed);
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::compression_damaged);
      return error.reason();
    }
    return std::string();
  };
  // A frame with a window of 1 GiB and one empty block.
  const std::string zstd("\x28\xb5\x2f\xfd\x00\xa0\x01\x00\x00", 9);
  CHECK(reason(Compression::zstd, zstd).find("memory") != std::string::npos);
  // Sets the byte of the block header with the size of the dictionary; a checksum ends the header.
  std::string xz = compress_text(Compression::xz, sample_text(300));
  const std::size_t head = 12;
  const std::size_t head_bytes = (static_cast<std::size_t>(xz[head]) + 1) * 4;
  xz[xz.find("\x21\x01", head + 2) + 2] = 40;  // 4 GiB
  const std::uint32_t sum =
      lzma_crc32(reinterpret_cast<const std::uint8_t*>(xz.data()) + head, head_bytes - 4, 0);
  store(reinterpret_cast<std::byte*>(xz.data()) + head + head_bytes - 4, sum);
  CHECK(reason(Compression::xz, xz).find("MiB of memory") != std::string::npos);
}

TEST_CASE("over 256 MiB, data that unpack to more than 1,100 times their bytes are refused") {
  constexpr std::uint64_t kPart = 16 << 20, kParts = 20;
  for (const Compression compression : kAll) {
    const std::string part = compress_text(compression, std::string(kPart, '\0'));
    std::string all;
    for (std::uint64_t p = 0; p < kParts; ++p) all += part;
    MemoryStream in{std::as_bytes(std::span(all))};
    const auto stream = decompress(in, compression, "a.tar");
    if (compression == Compression::gzip) {
      CHECK(stream->skip(kParts * kPart) == kParts * kPart);
      continue;
    }
    CHECK(stream->skip(256 << 20) == 256 << 20);
    try {
      stream->skip(kParts * kPart);
      FAIL("it was unpacked");
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::format_unsupported);
      CHECK(error.reason().find("more than 1,100 times as many") != std::string::npos);
    }
  }
}

TEST_CASE("a compressed tar is scanned, and has no random access") {
  const TemporaryFolder folder;
  TarMaker maker;
  maker.add("README", "left out")
      .add("1.jpg", "image 1")
      .add("1.cls", "cat")
      .add("2.txt", "a text");
  maker.add("2.jpg", std::string(100'000, 'b'))
      .add("2.cls", "dog")
      .add("3.jpg", "")
      .add("3.cls", "dog");
  const auto plain = open_loose(folder.write("plain.tar", maker.end()));
  for (const Compression compression : kAll) {
    CAPTURE(compression_name(compression));
    const std::string compressed = compress_text(compression, maker.end());
    const auto source = open_loose(folder.write("misnamed.bin", compressed));
    CHECK_FALSE(source->random_access());
    CHECK(source->fingerprint() == plain->fingerprint());
    CHECK(source->warnings().size() == plain->warnings().size());
    Sample sample;
    Extent extent;
    CHECK_THROWS_AS(source->read(sample, 0), Error);
    CHECK_FALSE(source->extent(0, 0, extent));

    std::vector<std::uint64_t> good, bad;
    Sample same;
    for (int pass = 0; pass < 2; ++pass) {
      source->scan(
          [&](std::uint64_t i, Sample& found) {
            plain->read(same, i);
            CHECK(found.fields == same.fields);
            return good.push_back(i), true;
          },
          [&](std::uint64_t i, const SampleError&) { return bad.push_back(i), true; });
    }
    CHECK(good == std::vector<std::uint64_t>{0, 1, 0, 1});
    CHECK(bad == std::vector<std::uint64_t>{2, 2});
    CHECK_THROWS_AS(source->scan([](std::uint64_t, Sample&) { return true; }), SampleError);

    folder.write("misnamed.bin", compress_text(compression, TarMaker().add("9.jpg", "x").end()));
    CHECK_THROWS_AS(source->scan([](std::uint64_t, Sample&) { return true; }), Error);
  }
}

TEST_CASE("compressed data that are no tar are refused") {
  const TemporaryFolder folder;
  for (const Compression compression : kAll) {
    try {
      open_loose(folder.write("a.gz", compress_text(compression, sample_text(2000))));
      FAIL("it was opened");
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::tar_damaged);
    }
  }
}

}  // namespace tundish
