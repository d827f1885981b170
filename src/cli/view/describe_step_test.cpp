#include "cli/view/describe_step.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "augment/operations/warps/affine_matrix.h"

namespace tundish::cli {
namespace {

using Lines = std::vector<std::string>;

Lines words_of(const AffineNumbers& numbers, Size size = {200, 100}) {
  View view(size);
  add_affine(view, numbers, {});
  return describe_steps(view);
}

Lines words_of(const PixelStep& step, Size size = {200, 100}) {
  View view(size);
  view.add(step);
  return describe_steps(view);
}

}  // namespace

TEST_CASE("an affine step reads as rotation, scale, shear and shift") {
  CHECK(words_of({.angle = -12.3}) == Lines{"rotate 12.3 deg"});  // AffineNumbers is clockwise
  CHECK(words_of({.angle = 12.3, .translate = {4, -2}, .scale = 0.9}) ==
        Lines{"rotate -12.3 deg", "scale 0.9", "shift right 4 px", "shift up 2 px"});
  CHECK(words_of({.translate = {-7, 0}}) == Lines{"shift left 7 px"});
  CHECK(words_of({.shear = {8, 0}}).front().starts_with("shear x "));
  CHECK(words_of({.shear = {0, 8}}).front().starts_with("shear y "));
  CHECK(words_of({.shear = {8, 0}}).size() == 1);
  CHECK(words_of(AffineNumbers{}) == Lines{});
}

TEST_CASE("a rotation that enlarges the image shifts nothing") {
  for (const double angle : {17.0, 90.0, 135.0}) {
    View view({200, 100});
    add_rotation(view, angle, {}, true);
    CHECK(describe_steps(view) == Lines{fmt::format("rotate {:g} deg", angle)});
  }
}

TEST_CASE("an affine step of a tensor is described from the middle of the image") {
  const PixelStep step{.op = PixelOp::tensor_affine, .value = {1, 0, 9, 0, 1, 0, 1}};
  CHECK(words_of(step) == Lines{"shift left 9 px"});
}

TEST_CASE("operations with several numbers say which is which") {
  CHECK(
      words_of(PixelStep{.op = PixelOp::gaussian_blur, .value = {23, 23, 1.25, 1.25, 0.7, 0.7}}) ==
      Lines{"blur 23x23 sigma 1.25"});
  CHECK(words_of(PixelStep{.op = PixelOp::elastic, .value = {50, 20, 5, 4, 0.9, 0.9, 1}}) ==
        Lines{"elastic alpha 50 x 20 sigma 5 x 4"});
  CHECK(words_of(PixelStep{.op = PixelOp::erase, .window = {3, 4, 10, 20}}) ==
        Lines{"erase 10x20+3+4"});
  CHECK(words_of(PixelStep{.op = PixelOp::brightness, .value = {1.23456}}) ==
        Lines{"brightness 1.23"});
}

}  // namespace tundish::cli
