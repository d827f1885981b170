// sample_row() for several pixels at once. The arithmetic has the order of warp_ops.h, so the bits
// are the same. Included only by the files for one instruction set, each with its Lanes.
//
// warp_ops.h computes the few pixels that have a neighbor outside the image in x, or whose bytes
// are too close to the end of the image.
#pragma once

#include "augment/pixels/warp/warp_rows.h"

#define TUNDISH_LANES static inline __attribute__((always_inline))

namespace tundish {
namespace {

template <class L>
struct SampleRow {
  using Double = typename L::Double;
  using Int = typename L::Int;
  using Bytes = typename L::Bytes;  // eight bytes per lane
  using Mask = typename L::Mask;

  struct Places {
    Double x, y;
  };

  TUNDISH_LANES Places places(const WarpRows& rows, int x, int y) {
    const double* a = rows.value;
    const Double across = L::add(L::numbers(), L::all(x + 0.5));
    const double down = y + 0.5;
    Places out{L::add(L::add(L::mul(L::all(a[0]), across), L::all(a[1] * down)), L::all(a[2])),
               L::add(L::add(L::mul(L::all(a[3]), across), L::all(a[4] * down)), L::all(a[5]))};
    if (rows.step.op == PixelOp::perspective) {
      const Double depth =
          L::add(L::add(L::mul(L::all(a[6]), across), L::all(a[7] * down)), L::all(1.0));
      out = {L::div(out.x, depth), L::div(out.y, depth)};
    }
    return out;
  }

  TUNDISH_LANES Mask between(Double value, double low, double end) {
    return L::both(L::not_less(value, L::all(low)), L::less(value, L::all(end)));
  }

  // Returns the offsets in bytes of pixels from the image's first byte.
  TUNDISH_LANES Int offsets(const Pixels& image, Int x, Int y) {
    const Int pixels = L::add(L::mul(y, L::all_ints(image.width)), x);
    return L::add(L::add(pixels, pixels), pixels);
  }

  // Returns the lanes whose `count` bytes are inside the image.
  TUNDISH_LANES Mask readable(const Pixels& image, Int offsets, int count) {
    const int bytes = 3 * image.width * image.height;
    return L::less(offsets, L::all_ints(bytes - count + 1));
  }

  TUNDISH_LANES Int rows_at(const Pixels& image, Int y, int further) {
    const Int row = L::add(y, L::all_ints(further));
    return L::min(L::max(row, L::all_ints(0)), L::all_ints(image.height - 1));
  }

  TUNDISH_LANES Double lerp(Double a, Double b, Double t) {
    return L::add(a, L::mul(L::sub(b, a), t));
  }

  // Returns each lane's pixel in the lower bytes; `done` gets the lanes with a valid result.
  TUNDISH_LANES Int bilinear(const Pixels& image, const Places& at, Mask inside, Mask& done) {
    const Double x = L::sub(at.x, L::all(0.5)), y = L::sub(at.y, L::all(0.5));
    const Double left = L::floor(x), top = L::floor(y);
    const Double dx = L::sub(x, left), dy = L::sub(y, top);
    const Int column = L::to_int(left), row = L::to_int(top);
    const Int above = offsets(image, column, rows_at(image, row, 0));
    const Int below = offsets(image, column, rows_at(image, row, 1));
    done = L::both(inside, between(left, 0, image.width - 1));
    done = L::both(done, readable(image, below, 8));
    const Bytes p0 = L::gather(image.rgb, above, done), p1 = L::gather(image.rgb, below, done);
    const Double red = lerp(lerp(L::template byte<0>(p0), L::template byte<3>(p0), dx),
                            lerp(L::template byte<0>(p1), L::template byte<3>(p1), dx), dy);
    const Double green = lerp(lerp(L::template byte<1>(p0), L::template byte<4>(p0), dx),
                              lerp(L::template byte<1>(p1), L::template byte<4>(p1), dx), dy);
    const Double blue = lerp(lerp(L::template byte<2>(p0), L::template byte<5>(p0), dx),
                             lerp(L::template byte<2>(p1), L::template byte<5>(p1), dx), dy);
    return L::rgb(red, green, blue);
  }

  // v2 + t * (p2 + t * (p3 + t * p4)) between the second and the third of four values.
  struct Cubic {
    Double v2, p2, p3, p4;
  };

  TUNDISH_LANES Cubic cubic(Double v1, Double v2, Double v3, Double v4) {
    const Double less = L::sub(v1, v2);
    return {v2, L::sub(v3, v1), L::sub(L::add(L::add(less, less), v3), v4),
            L::add(L::sub(L::sub(v2, v1), v3), v4)};
  }

  TUNDISH_LANES Double at(const Cubic& c, Double t) {
    return L::add(c.v2, L::mul(t, L::add(c.p2, L::mul(t, L::add(c.p3, L::mul(t, c.p4))))));
  }

  // Computes the cubics of red, green and blue for four consecutive pixels at the offset.
  TUNDISH_LANES void row_cubics(Cubic (&out)[3], const std::uint8_t* rgb, Int first, Mask done) {
    if constexpr (requires { L::kDots; }) {
      L::row_cubics(out, rgb, first, done);
    } else {
      const Bytes a = L::gather(rgb, first, done), b = L::gather(rgb + 4, first, done);
      out[0] = cubic(L::template byte<0>(a), L::template byte<3>(a), L::template byte<6>(a),
                     L::template byte<5>(b));
      out[1] = cubic(L::template byte<1>(a), L::template byte<4>(a), L::template byte<7>(a),
                     L::template byte<6>(b));
      out[2] = cubic(L::template byte<2>(a), L::template byte<5>(a), L::template byte<4>(b),
                     L::template byte<7>(b));
    }
  }

  TUNDISH_LANES Double clipped(Double value) {
    return L::min(L::max(value, L::all(0.0)), L::all(255.0));
  }

  TUNDISH_LANES Int bicubic(const Pixels& image, const Places& places, Mask inside, Mask& done) {
    const Double x = L::sub(places.x, L::all(0.5)), y = L::sub(places.y, L::all(0.5));
    const Double left = L::floor(x), top = L::floor(y);
    const Double dx = L::sub(x, left), dy = L::sub(y, top);
    const Int column = L::sub(L::to_int(left), L::all_ints(1)), row = L::to_int(top);
    done = L::both(inside, between(left, 1, image.width - 2));
    done = L::both(done, readable(image, offsets(image, column, rows_at(image, row, 2)), 16));
    if (L::bits(done) == 0) return column;
    Double value[3][4];
    for (int i = 0; i < 4; ++i) {
      Cubic cubics[3];
      row_cubics(cubics, image.rgb, offsets(image, column, rows_at(image, row, i - 1)), done);
      for (int c = 0; c < 3; ++c) value[c][i] = at(cubics[c], dx);
    }
    for (auto& v : value) v[0] = clipped(at(cubic(v[0], v[1], v[2], v[3]), dy));
    return L::rgb(value[0][0], value[1][0], value[2][0]);
  }

  TUNDISH_LANES Int nearest(const Pixels& image, const Places& at, Mask inside, Mask& done) {
    const Int first = offsets(image, L::to_int(at.x), L::to_int(at.y));
    done = L::both(inside, readable(image, first, 8));
    return L::low_ints(L::gather(image.rgb, first, done));
  }

  // Computes the lanes in `left` one by one.
  static void finish(std::uint8_t* to, const Pixels& image, Filter filter, const Places& at,
                     unsigned left) {
    double x[L::kLanes], y[L::kLanes];
    L::store(x, at.x);
    L::store(y, at.y);
    for (; left != 0; left &= left - 1) {
      const int i = __builtin_ctz(left);
      sample_pixel(to + 3 * i, image, filter, {x[i], y[i]});
    }
  }

  template <Filter kFilter>
  TUNDISH_LANES void run(const WarpRows& rows, int y, int from, int end) {
    const Pixels image = rows.image;
    std::uint8_t* to = rows.row(y) + 3 * from;
    const Int fill = L::all_ints(rows.fill[0] | rows.fill[1] << 8 | rows.fill[2] << 16);
    for (int x = from; x < end; x += L::kLanes, to += 3 * L::kLanes) {
      const Places at = places(rows, x, y);
      const int count = end - x < L::kLanes ? end - x : L::kLanes;
      const Mask inside = L::both(between(at.x, 0, image.width), between(at.y, 0, image.height));
      if (L::bits(inside) == 0) {
        L::store_pixels(to, fill, count);
        continue;
      }
      Mask done;
      Int pixels;
      if (kFilter == Filter::nearest) pixels = nearest(image, at, inside, done);
      if (kFilter == Filter::bilinear) pixels = bilinear(image, at, inside, done);
      if (kFilter == Filter::bicubic) pixels = bicubic(image, at, inside, done);
      L::store_pixels(to, L::choose(done, pixels, fill), count);
      const unsigned left = L::bits(inside) & ~L::bits(done) & ((1u << count) - 1);
      if (left != 0) finish(to, image, kFilter, at, left);
    }
  }

  // Computes pixels from .. end - 1 of a row.
  static void run(const WarpRows& rows, int y, int from, int end) {
    if (rows.step.filter == Filter::nearest) return run<Filter::nearest>(rows, y, from, end);
    if (rows.step.filter == Filter::bilinear) return run<Filter::bilinear>(rows, y, from, end);
    run<Filter::bicubic>(rows, y, from, end);
  }
};

}  // namespace
}  // namespace tundish
