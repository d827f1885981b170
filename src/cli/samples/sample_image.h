// One synthetic photo: color gradients, texture at every scale, and objects whose shape and color
// depend on the class. The same seed produces the same bytes on every machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tundish {

constexpr int kMaxSampleClasses = 50;

// Returns "blue_ring": the color and shape of the objects. 0 <= label < kMaxSampleClasses.
std::string sample_class_name(int label);

// Returns a JPEG with sides of 350 to 640 pixels, varying sampling and quality, occasionally gray.
// Throws std::bad_alloc.
std::vector<std::byte> make_sample_image(int label, std::uint64_t seed, std::uint64_t number);

}  // namespace tundish
