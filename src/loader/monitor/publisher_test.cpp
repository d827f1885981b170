#include "loader/monitor/publisher.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <thread>

#include "base/testing.h"

namespace tundish {
namespace {

std::array<std::byte, kLoaderPageBytes> page_of(const Publisher& publisher) {
  std::array<std::byte, kLoaderPageBytes> page{};
  REQUIRE(::pread(publisher.descriptor(), page.data(), page.size(), 0) == ssize_t(page.size()));
  return page;
}

// Fills every field with a different number.
template <class Fields>
Fields filled(double first) {
  Fields out;
  Fields::fields(out, [&](const FieldInfo&, auto& value) {
    value = static_cast<std::remove_reference_t<decltype(value)>>(first++);
  });
  return out;
}

template <class Fields>
bool same(const Fields& a, const Fields& b) {
  std::vector<double> left, right;
  Fields::fields(a, [&](const FieldInfo&, auto& value) { left.push_back(double(value)); });
  Fields::fields(b, [&](const FieldInfo&, auto& value) { right.push_back(double(value)); });
  return left == right;
}

TEST_CASE("what a loader publishes is what others read") {
  Publisher publisher("photos/train.tnd");
  REQUIRE(publisher.works());
  publisher.write(filled<LoaderStats>(3), filled<LoaderProgress>(100));
  PublishedLoader read;
  CHECK_FALSE(parse_loader_page(read, page_of(publisher)));
  CHECK(read.process == static_cast<std::uint64_t>(::getpid()));
  CHECK(read.source == "photos/train.tnd");
  CHECK(read.sequence == 2);
  CHECK(same(read.stats, filled<LoaderStats>(3)));
  CHECK(same(read.progress, filled<LoaderProgress>(100)));
}

TEST_CASE("a name without end is cut off, and the memory cannot be made shorter") {
  const Publisher publisher(std::string(10'000, 'x'));
  PublishedLoader read;
  CHECK_FALSE(parse_loader_page(read, page_of(publisher)));
  CHECK(read.source == std::string(512, 'x'));
  CHECK(::ftruncate(publisher.descriptor(), 0) != 0);
}

TEST_CASE("a forked child publishes nothing, and its parent goes on") {
  Publisher publisher("a");
  publisher.write(filled<LoaderStats>(1), {});
  const pid_t child = ::fork();
  if (child == 0) {
    publisher.write(filled<LoaderStats>(500), {});
    ::_exit(0);
  }
  REQUIRE(child > 0);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  PublishedLoader read;
  CHECK_FALSE(parse_loader_page(read, page_of(publisher)));
  CHECK(same(read.stats, filled<LoaderStats>(1)));
  publisher.write(filled<LoaderStats>(2), {});
  CHECK_FALSE(parse_loader_page(read, page_of(publisher)));
  CHECK(same(read.stats, filled<LoaderStats>(2)));
}

TEST_CASE("a reader sees figures of one moment, or an odd number or a change of it") {
  Publisher publisher("a");
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    for (double n = 1; !stop; n += 1000) publisher.write(filled<LoaderStats>(n), {});
  });
  for (int i = 0; i < 3000; ++i) {
    const auto page = page_of(publisher);
    const auto after = load<std::uint64_t>(page_of(publisher).data() + loader_page::kSequence);
    PublishedLoader read;
    CHECK_FALSE(parse_loader_page(read, page));
    if (read.sequence % 2 != 0 || read.sequence != after || read.sequence == 0) continue;
    CHECK(same(read.stats, filled<LoaderStats>(double(read.stats.batches))));
  }
  stop = true;
  writer.join();
  publisher.write(filled<LoaderStats>(7), {});
  PublishedLoader last;
  CHECK_FALSE(parse_loader_page(last, page_of(publisher)));
  CHECK(same(last.stats, filled<LoaderStats>(7)));
}

TEST_CASE("any bytes are a page or a fault inside of it") {
  Publisher publisher("source");
  publisher.write(filled<LoaderStats>(1), {});
  const auto good = page_of(publisher);
  Random random({.seed = test_seed()}, 1);
  for (int i = 0; i < 3000; ++i) {
    auto page = good;
    for (int n = between(random, 1, 40); n > 0; --n) {
      const std::size_t most = random.below(2) ? 64 : page.size();
      page[random.below(most)] = static_cast<std::byte>(random.below(256));
    }
    const std::size_t bytes = random.below(8) ? page.size() : random.below(page.size());
    PublishedLoader read;
    if (const auto fault = parse_loader_page(read, Bytes(page.data(), bytes))) {
      CHECK(fault->offset <= bytes);
      CHECK_FALSE(fault->reason.empty());
    } else {
      CHECK(read.source.size() <= 512);
      CHECK(read.stats.wait_s >= 0);
      CHECK(read.stats.wait_s < 1e308);
    }
  }
}

}  // namespace
}  // namespace tundish
