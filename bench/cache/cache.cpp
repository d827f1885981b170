// Computes hit rates over shuffled epochs, for caches of 5 % to 95 % of the data. Prints JSON. The
// first epoch fills the caches and does not count.
//   bench_cache COUNT EPOCHS WORLD_SIZE SPREAD SEED
// SPREAD: standard deviation of the logarithm of the sample sizes; 0: equal sizes.
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <vector>

#include "base/random.h"
#include "contestant.h"

namespace {

using namespace tundish;

constexpr std::uint64_t kMeanBytes = 100'000;

std::vector<std::uint64_t> sizes_of(std::uint64_t count, double spread, std::uint64_t seed) {
  std::vector<std::uint64_t> out;
  for (std::uint64_t i = 0; i < count; ++i) {
    Random random({.seed = seed, .sample = i}, 1);
    double sum = -6;  // sum of twelve uniform numbers: nearly normal
    for (int k = 0; k < 12; ++k) sum += static_cast<double>(random.below(1 << 20)) / (1 << 20);
    out.push_back(1 + static_cast<std::uint64_t>(kMeanBytes * std::exp(spread * sum)));
  }
  return out;
}

}  // namespace

int main(int words, char** word) {
  const auto number = [&](int i, double otherwise) {
    return i < words ? std::strtod(word[i], nullptr) : otherwise;
  };
  const auto count = static_cast<std::uint64_t>(number(1, 5000));
  const auto epochs = static_cast<std::uint64_t>(number(2, 5));
  const auto world = static_cast<std::uint32_t>(number(3, 1));
  const auto seed = static_cast<std::uint64_t>(number(5, 1));
  const std::vector<std::uint64_t> sizes = sizes_of(count, number(4, 0), seed);
  std::uint64_t all = 0;
  for (const std::uint64_t bytes : sizes) all += bytes;

  const Order order{.count = count, .seed = seed, .shuffle = true};
  const Schedule schedule{.count = count, .batch_size = 32, .world_size = world};
  const NextUse next_use(order, schedule);
  const char* comma = "";
  fmt::print("[");
  for (std::uint64_t percent = 5; percent <= 95; ++percent) {
    const std::uint64_t capacity = all / 100 * percent;
    const std::unique_ptr<Contestant> contestants[] = {known_order(capacity, next_use),
                                                       lru(capacity)};
    std::uint64_t hits[] = {0, 0}, visits = 0;
    for (std::uint64_t epoch = 0; epoch <= epochs * world; ++epoch) {
      for (std::uint64_t start = 0; steps_from(schedule, start) > 0;) {
        const Step step = step_at(schedule, start);
        for (std::uint64_t at = step.first; at < step.first + step.size; ++at) {
          const std::uint64_t sample = draw_at(order, epoch, at).sample;
          const bool counts = epoch >= world;
          visits += counts;
          for (int c = 0; c < 2; ++c) {
            hits[c] += contestants[c]->hit({{epoch, at, start}, sample, sizes[sample]}) && counts;
          }
        }
        start = step.next;
      }
    }
    const auto rate = [&](int c) {
      return static_cast<double>(hits[c]) / static_cast<double>(visits);
    };
    fmt::print("{}{{\"percent\": {}, \"known order\": {:.6f}, \"LRU\": {:.6f}}}", comma, percent,
               rate(0), rate(1));
    comma = ",\n ";
  }
  fmt::print("]\n");
}
