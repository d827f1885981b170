#include "tools/top/find_loaders.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "base/temporary_folder.h"
#include "loader/monitor/publisher.h"
#include "tools/top/snapshot.h"

namespace tundish {
namespace {

// Returns only this test's loaders: others may run on the machine.
std::vector<RunningLoader> ours(const std::string& source) {
  std::vector<RunningLoader> found = find_loaders();
  std::erase_if(found, [&](const RunningLoader& one) { return one.figures.source != source; });
  return found;
}

std::size_t of_this_process() {
  std::vector<RunningLoader> found = find_loaders();
  std::erase_if(found, [](const RunningLoader& one) {
    return one.process != static_cast<std::uint32_t>(::getpid());
  });
  return found.size();
}

std::string own_name(const char* name) { return std::string(name) + std::to_string(::getpid()); }

TEST_CASE("loaders of a process are found through /proc, until they end") {
  const std::string source = own_name("found-");
  std::optional<Publisher> first(source), second(source);
  first->write({.batches = 7}, {.epoch = 3});
  std::vector<RunningLoader> found = ours(source);
  REQUIRE(found.size() == 2);
  CHECK(found[0].process == static_cast<std::uint32_t>(::getpid()));
  CHECK_FALSE(found[0].command.empty());
  CHECK(std::max(found[0].figures.stats.batches, found[1].figures.stats.batches) == 7);
  RunningLoader& one = found[0].figures.stats.batches == 7 ? found[0] : found[1];
  first->write({.batches = 8}, {});
  CHECK(update_loader(one));
  CHECK(one.figures.stats.batches == 8);
  first.reset();
  CHECK_FALSE(update_loader(one));
  CHECK(ours(source).size() == 1);
  second.reset();
  CHECK(ours(source).empty());
}

TEST_CASE("a forked child is not a second loader, and what ended before its child is none") {
  const std::string source = own_name("forked-");
  std::optional<Publisher> publisher(source);
  publisher->write({}, {});
  int gate[2];
  REQUIRE(::pipe(gate) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    char byte;
    ::close(gate[1]);
    [[maybe_unused]] const ssize_t got = ::read(gate[0], &byte, 1);  // until the parent is done
    ::_exit(0);
  }
  REQUIRE(child > 0);
  CHECK(ours(source).size() == 1);
  CHECK(ours(source)[0].process == static_cast<std::uint32_t>(::getpid()));
  publisher.reset();
  CHECK(ours(source).empty());  // although the child still maps the memory
  ::close(gate[1]);
  ::close(gate[0]);
  int status = 0;
  CHECK(::waitpid(child, &status, 0) == child);
}

TEST_CASE("memory of the same name with other bytes, short or empty, is none") {
  const std::size_t before = of_this_process();
  const int other = ::memfd_create(kLoaderPageName, MFD_CLOEXEC);
  REQUIRE(other >= 0);
  CHECK(of_this_process() == before);
  REQUIRE(::ftruncate(other, 8192) == 0);
  CHECK(of_this_process() == before);
  REQUIRE(::pwrite(other, "TNDLOADR", 8, 0) == 8);
  CHECK(of_this_process() == before);
  ::close(other);
}

TEST_CASE("a made-up /proc of any entries has no loader") {
  const TemporaryFolder folder;
  const SystemRoots roots{.proc = folder.path(), .sys = "", .groups = "", .dev = ""};
  folder.write("12/fd/3", "a file");
  folder.write("99999999999999999999/fd/3", "");
  folder.write("13", "no folder");
  folder.write("14/fd/x/y", "");
  std::filesystem::create_symlink("/memfd:tundish-loader (deleted)", folder / "12/fd/4");
  std::filesystem::create_symlink(folder / "12", folder / "12/fd/5");
  CHECK(find_loaders(roots).empty());
  CHECK(find_loaders({.proc = folder / "absent", .sys = "", .groups = "", .dev = ""}).empty());
}

TEST_CASE("rates are differences, and nothing that went backwards is one") {
  RunningLoader before, now;
  before.figures.stats = {.batches = 10, .samples = 1000, .bytes = 5000};
  before.figures.stats.elapsed_s = 10;
  before.figures.stats.wait_s = 2;
  now.figures.stats = {.batches = 14, .samples = 1400, .bytes = 9000};
  now.figures.stats.elapsed_s = 12;
  now.figures.stats.wait_s = 3;
  now.figures.stats.decode_s = 4;
  now.figures.stats.thread_s = 8;
  now.figures.stats.cache_hits = 3;
  now.figures.stats.cache_misses = 1;
  const LoaderRate rate = rate_of(before, now, 1);
  CHECK(rate.samples == 200);
  CHECK(rate.batches == 2);
  CHECK(rate.bytes == 2000);
  CHECK(rate.waiting == 0.5);
  CHECK(rate.decoding == 0.5);
  CHECK(rate.hits == 0.75);
  CHECK(rate_of(now, before, 1).samples == 0);
  CHECK(rate_of(now, now, 0).samples == 0);
  now.figures.stats.thread_s = 1e-300;
  CHECK(rate_of(before, now, 1).decoding == 1);
}

TEST_CASE("a sampler keeps the rate of a loader in a long step, and drops one that ended") {
  const std::string source = own_name("sampled-");
  std::optional<Publisher> publisher(source);
  LoaderStats stats{.samples = 100};
  stats.elapsed_s = 1;
  publisher->write(stats, {.updated_ns = ~std::uint64_t{0}});  // just published
  Sampler sampler({.roots = {}, .nvml = "none", .search_seconds = 3600});
  const auto take = [&] {
    std::optional<LoaderRate> found;
    for (const LoaderRate& one : sampler.take().loaders) {
      if (one.loader.figures.source == source) found = one;
    }
    return found;
  };
  REQUIRE(take());
  stats.samples = 300;
  stats.elapsed_s = 2;
  publisher->write(stats, {.updated_ns = ~std::uint64_t{0}});
  CHECK(take()->samples == 200);
  CHECK(take()->samples == 200);
  publisher.reset();
  CHECK_FALSE(take());
}

}  // namespace
}  // namespace tundish
