// make_samples FOLDER IMAGES CLASSES: the demo's sample set, for benchmarks and tests.
#include <fmt/format.h>

#include <cstdlib>
#include <exception>

#include "cli/samples/sample_set.h"

int main(int argc, char** argv) {
  try {
    const int images = argc > 3 ? std::atoi(argv[2]) : 0;
    const int classes = argc > 3 ? std::atoi(argv[3]) : 0;
    tundish::make_sample_set(argc > 1 ? argv[1] : "", {.count = images, .classes = classes});
  } catch (const std::exception& error) {
    fmt::print(stderr, "make_samples: {}\n", error.what());
    return 1;
  }
}
