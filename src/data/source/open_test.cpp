#include "data/source/open.h"

#include <doctest/doctest.h>
#include <zlib.h>

#include "base/error.h"
#include "base/interruption.h"
#include "base/temporary_folder.h"
#include "data/source/formats/tar/tar_maker.h"

namespace tundish {
namespace {

// Requests a stop from the nth check on.
struct Countdown {
  mutable int looks_left;
  StopRequest request() const {
    return {[](const void* context) {
              return --static_cast<const Countdown*>(context)->looks_left < 0;
            },
            this};
  }
};

// Interrupts the opening of a source at every check; returns the number of checks.
int interrupt_everywhere(const std::string& path) {
  for (int looks = 0; looks < 10'000; ++looks) {
    const Countdown countdown{looks};
    const StopScope scope(countdown.request());
    try {
      open_loose(path)->fingerprint();
      return looks;
    } catch (const Error& error) {
      REQUIRE(error.code() == ErrorCode::interrupted);
    }
  }
  return 10'000;
}

std::string gzip(const std::string& text) {
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(out.size() - stream.avail_out);
  deflateEnd(&stream);
  return out;
}

}  // namespace

TEST_CASE("opening a folder, a list or an archive can be interrupted at any of its steps") {
  const TemporaryFolder folder;
  TarMaker tar;
  std::string list = "path,label\n", outside = list;  // images outside the list's folder
  for (int i = 0; i < 20; ++i) {
    const std::string name = fmt::format("set/{}/{}.jpg", i % 2 ? "cat" : "dog", i);
    folder.write(name, "bytes");
    list += fmt::format("{},{}\n", name, i % 2 ? "cat" : "dog");
    outside += fmt::format("../{},{}\n", name, i % 2 ? "cat" : "dog");
    tar.add(name, std::string(100'000, 'x'));
  }
  folder.write("list.csv", list);
  folder.write("out/list.csv", outside);
  folder.write("a.tar", tar.end());
  folder.write("a.tar.gz", gzip(tar.end()));
  // Each place that checks does so for each of the 20 files, rows or members, and most more often.
  // The bounds are so high that no such place may be missing.
  constexpr int kOnePlace = 20;
  CHECK(interrupt_everywhere(folder / "set") > 112 - kOnePlace);
  CHECK(interrupt_everywhere(folder / "list.csv") > 146 - kOnePlace);
  CHECK(interrupt_everywhere(folder / "out/list.csv") > 166 - kOnePlace);
  CHECK(interrupt_everywhere(folder / "a.tar") > 219 - kOnePlace);
  CHECK(interrupt_everywhere(folder / "a.tar.gz") > 302 - kOnePlace);
}

TEST_CASE("a thread looks at the innermost request only, and at none afterwards") {
  const std::atomic<bool> yes{true};
  const std::atomic<bool> no{false};
  CHECK_FALSE(stop_requested());
  {
    const StopScope outer(stop_request(&yes));
    CHECK(stop_requested());
    {
      const StopScope inner(stop_request(&no));
      CHECK_FALSE(stop_requested());
    }
    CHECK(stop_requested());
    CHECK_THROWS_AS(check_stop("a.tar"), Error);
  }
  CHECK_FALSE(stop_requested());
  const StopScope never(stop_request(nullptr));
  CHECK_FALSE(stop_requested());
}

}  // namespace tundish
