#include "cli/samples/sample_image.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "base/image.h"
#include "base/random.h"
#include "cli/samples/encode_jpeg.h"

namespace tundish {
namespace {

using Color = std::array<float, 3>;  // 0 to 255

struct NamedColor {
  const char* name;
  Color color;
};

constexpr NamedColor kColors[] = {
    {"red", {215, 40, 40}},     {"orange", {235, 130, 30}}, {"yellow", {230, 210, 50}},
    {"lime", {150, 215, 50}},   {"green", {40, 150, 60}},   {"teal", {40, 170, 165}},
    {"blue", {45, 85, 210}},    {"purple", {130, 60, 185}}, {"pink", {235, 120, 180}},
    {"white", {240, 240, 235}},
};

// Returns the signed distance from a point to the edge, negative inside, in units of the object's
// radius.
using Shape = float (*)(float x, float y);

float disc(float x, float y) { return std::sqrt(x * x + y * y) - 1; }
float ring(float x, float y) { return std::abs(std::sqrt(x * x + y * y) - 0.75f) - 0.25f; }
float square(float x, float y) { return std::max(std::abs(x), std::abs(y)) - 0.85f; }
float triangle(float x, float y) { return std::max(0.866f * std::abs(x) + 0.5f * y, -y) - 0.55f; }
float cross(float x, float y) {
  const float a = std::abs(x), b = std::abs(y);
  return std::max(std::max(a, b) - 1, std::min(a, b) - 0.33f);
}

struct NamedShape {
  const char* name;
  Shape shape;
};

constexpr NamedShape kShapes[] = {
    {"disc", disc}, {"ring", ring}, {"square", square}, {"triangle", triangle}, {"cross", cross}};

// Each label has a unique pair of color and shape; the first classes differ in both.
const NamedColor& color_of(int label) { return kColors[label % 10]; }
const NamedShape& shape_of(int label) { return kShapes[(label + label / 10) % 5]; }

// A sine of whole turns from parabolas: the math library may round differently on other machines.
float wave(float turns) {
  const float t = turns - std::floor(turns) - 0.5f;
  return 8 * t * (1 - 2 * std::abs(t));
}

float uniform(Random& random, float low, float high) {
  return static_cast<float>(random.uniform(low, high));
}

// Returns a map of values around 0. Each octave halves the grain size; `roughness` scales the
// amplitude from one octave to the next finer one.
std::vector<float> fractal_noise(Size size, float roughness, Random& random) {
  constexpr int kCoarsest = 128;  // pixels
  int width = size.width / kCoarsest + 2;
  int height = size.height / kCoarsest + 2;
  float amplitude = 1;
  const auto add_noise = [&](std::vector<float>& map) {
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < map.size(); ++i, bits >>= 8) {
      if (i % 8 == 0) bits = random.next();
      map[i] += amplitude * (static_cast<float>(bits & 0xff) - 127.5f) / 127.5f;
    }
  };
  std::vector<float> map(static_cast<std::size_t>(width) * static_cast<std::size_t>(height));
  std::vector<float> finer;
  add_noise(map);
  for (int cell = kCoarsest; cell > 1; cell /= 2) {
    const auto coarse_width = static_cast<std::size_t>(width);
    width = std::min(2 * width - 1, size.width / (cell / 2) + 2);
    height = std::min(2 * height - 1, size.height / (cell / 2) + 2);
    finer.resize(static_cast<std::size_t>(width) * static_cast<std::size_t>(height));
    for (std::size_t y = 0; y < static_cast<std::size_t>(height); ++y) {
      const float* above = map.data() + y / 2 * coarse_width;
      const float* below = y % 2 == 0 ? above : above + coarse_width;
      float* to = finer.data() + y * static_cast<std::size_t>(width);
      for (std::size_t x = 0; x < static_cast<std::size_t>(width); ++x) {
        const std::size_t left = x / 2, right = left + x % 2;
        to[x] = 0.25f * (above[left] + above[right] + below[left] + below[right]);
      }
    }
    amplitude *= roughness;
    add_noise(finer);
    std::swap(map, finer);
  }
  for (int y = 0; y < size.height; ++y) {  // crops the margin of the last map
    std::copy_n(map.begin() + std::ptrdiff_t{y} * width, size.width,
                map.begin() + std::ptrdiff_t{y} * size.width);
  }
  return map;
}

// RGB, not yet rounded to integers.
struct Canvas {
  Size size;
  std::vector<Color> pixels;

  Color& at(int x, int y) {
    return pixels[static_cast<std::size_t>(y) * static_cast<std::size_t>(size.width) +
                  static_cast<std::size_t>(x)];
  }
};

// Returns a color that is darker and less saturated than the class colors.
Color random_color(Random& random) {
  const float gray = uniform(random, 50, 190);
  return {gray + uniform(random, -45, 45), gray + uniform(random, -45, 45),
          gray + uniform(random, -45, 45)};
}

// Paints a gradient between two colors across the image.
void paint_background(Canvas& canvas, Random& random) {
  const Color from = random_color(random), to = random_color(random);
  const float slope_x = uniform(random, -1, 1) / static_cast<float>(canvas.size.width);
  const float slope_y = uniform(random, -1, 1) / static_cast<float>(canvas.size.height);
  const std::vector<float> noise = fractal_noise(canvas.size, 0.4f, random);
  std::size_t i = 0;
  for (int y = 0; y < canvas.size.height; ++y) {
    for (int x = 0; x < canvas.size.width; ++x, ++i) {
      const float t = 0.5f + slope_x * static_cast<float>(x) + slope_y * static_cast<float>(y) +
                      0.35f * noise[i];
      const float s = std::clamp(t, 0.0f, 1.0f);
      for (std::size_t c = 0; c < 3; ++c) canvas.pixels[i][c] = from[c] + s * (to[c] - from[c]);
    }
  }
}

// Paints one object with a soft edge, lit from one side.
void paint_object(Canvas& canvas, Shape shape, const Color& color, Random& random) {
  const auto width = static_cast<float>(canvas.size.width);
  const auto height = static_cast<float>(canvas.size.height);
  const float radius = uniform(random, 0.10f, 0.24f) * std::min(width, height);
  const float center_x = uniform(random, 0, width), center_y = uniform(random, 0, height);
  const float turn = uniform(random, 0, 1);
  const float cosine = wave(turn + 0.25f) / radius, sine = wave(turn) / radius;
  const float reach = radius * 1.5f;
  const int left = std::max(0, static_cast<int>(center_x - reach));
  const int right = std::min(canvas.size.width, static_cast<int>(center_x + reach));
  const int top = std::max(0, static_cast<int>(center_y - reach));
  const int bottom = std::min(canvas.size.height, static_cast<int>(center_y + reach));
  for (int y = top; y < bottom; ++y) {
    for (int x = left; x < right; ++x) {
      const float dx = static_cast<float>(x) - center_x, dy = static_cast<float>(y) - center_y;
      const float distance = shape(dx * cosine + dy * sine, dy * cosine - dx * sine) * radius;
      const float cover = 0.95f * std::clamp(0.5f - distance, 0.0f, 1.0f);
      if (cover == 0) continue;
      const float light = 0.9f - 0.25f * (dx + dy) / reach;
      Color& pixel = canvas.at(x, y);
      for (std::size_t c = 0; c < 3; ++c) pixel[c] += cover * (color[c] * light - pixel[c]);
    }
  }
}

// Adds grain of every size, and fine stripes in a direction that depends on the class.
void paint_texture(Canvas& canvas, int label, Random& random) {
  const std::vector<float> noise =
      fractal_noise(canvas.size, uniform(random, 0.64f, 0.84f), random);
  const float turn = static_cast<float>(label) / 20 + uniform(random, -0.02f, 0.02f);
  const float stripes = uniform(random, 0.04f, 0.12f);  // per pixel
  const float step_x = wave(turn + 0.25f) * stripes, step_y = wave(turn) * stripes;
  std::size_t i = 0;
  for (int y = 0; y < canvas.size.height; ++y) {
    for (int x = 0; x < canvas.size.width; ++x, ++i) {
      const float at = static_cast<float>(x) * step_x + static_cast<float>(y) * step_y;
      const float light = 1 + 0.30f * noise[i] + 0.08f * wave(at + 0.4f * noise[i]);
      for (std::size_t c = 0; c < 3; ++c) {
        const float tint = (static_cast<float>(c) - 1) * 6 * noise[i];
        canvas.pixels[i][c] = canvas.pixels[i][c] * light + tint;
      }
    }
  }
}

// Returns typical JPEG settings of photo collections: mostly 4:4:4 or 4:2:0 at high quality.
cli::JpegCoding random_coding(Random& random) {
  constexpr int kQualities[] = {75, 80, 85, 90, 92, 94, 95, 96};
  cli::JpegCoding coding{.quality = kQualities[random.below(std::size(kQualities))]};
  const std::uint64_t kind = random.below(100);
  coding.gray = kind < 4;
  if (kind >= 60) coding.h = 2;
  if (kind >= 72) coding.v = 2;
  return coding;
}

Size random_size(Random& random) {
  const int longer = random.below(2) == 0 ? 500 : 400 + static_cast<int>(random.below(241));
  const int shorter = std::max(350, longer * (60 + static_cast<int>(random.below(41))) / 100);
  return random.below(4) == 0 ? Size{shorter, longer} : Size{longer, shorter};
}

}  // namespace

std::string sample_class_name(int label) {
  return std::string(color_of(label).name) + "_" + shape_of(label).name;
}

std::vector<std::byte> make_sample_image(int label, std::uint64_t seed, std::uint64_t number) {
  Random random({.seed = seed, .sample = number}, 0);
  Canvas canvas{.size = random_size(random), .pixels = {}};
  canvas.pixels.resize(static_cast<std::size_t>(canvas.size.width) *
                       static_cast<std::size_t>(canvas.size.height));
  paint_background(canvas, random);
  for (std::uint64_t i = random.below(3); i > 0; --i) {  // dull objects of other classes
    const float gray = uniform(random, 60, 160);
    paint_object(canvas, kShapes[random.below(std::size(kShapes))].shape, {gray, gray, gray},
                 random);
  }
  for (std::uint64_t i = 4 + random.below(4); i > 0; --i) {
    Color color = color_of(label).color;
    for (float& value : color) value += uniform(random, -20, 20);
    paint_object(canvas, shape_of(label).shape, color, random);
  }
  paint_texture(canvas, label, random);

  std::vector<std::uint8_t> rows;
  rows.reserve(canvas.pixels.size() * 3);
  for (const Color& pixel : canvas.pixels) {
    for (const float value : pixel) {
      rows.push_back(static_cast<std::uint8_t>(std::clamp(value, 0.0f, 255.0f) + 0.5f));
    }
  }
  return cli::encode_jpeg(rows, canvas.size, random_coding(random));
}

}  // namespace tundish
