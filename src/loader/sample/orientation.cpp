#include "loader/sample/orientation.h"

#include <cstring>

namespace tundish {
namespace {

// Writes every pixel of the incoming rows to its upright place.
class Turn : public StripSink {
 public:
  // `alpha`: null if it is not kept.
  Turn(std::uint8_t* out, std::uint8_t* alpha, Size stored, std::uint8_t orientation)
      : out_(out), alpha_(alpha), stored_(stored), orientation_(orientation) {}

  void push(const Strip& strip) override {
    const Size size = upright_size(stored_, orientation_);
    for (int row = 0; row < strip.rows; ++row) {
      const std::uint8_t* from = strip.pixels + row * strip.stride;
      for (int column = 0; column < strip.width; ++column, from += 3) {
        const int x = strip.x + column, y = strip.y + row;
        const int right = stored_.width - 1 - x, bottom = stored_.height - 1 - y;
        int to_x = x, to_y = y;
        switch (orientation_) {
          case 2:
            to_x = right;
            break;
          case 3:
            to_x = right, to_y = bottom;
            break;
          case 4:
            to_y = bottom;
            break;
          case 5:
            to_x = y, to_y = x;
            break;
          case 6:
            to_x = bottom, to_y = x;
            break;
          case 7:
            to_x = bottom, to_y = right;
            break;
          case 8:
            to_x = y, to_y = right;
            break;
          default:
            break;
        }
        const std::ptrdiff_t place = std::ptrdiff_t{to_y} * size.width + to_x;
        std::memcpy(out_ + 3 * place, from, 3);
        if (alpha_) alpha_[place] = alpha_of(strip, row, column);
      }
    }
  }

 private:
  std::uint8_t* out_;
  std::uint8_t* alpha_;
  Size stored_;
  std::uint8_t orientation_;
};

}  // namespace

Size upright_size(Size stored, std::uint8_t orientation) {
  return orientation >= 5 ? Size{stored.height, stored.width} : stored;
}

std::optional<Fault> decode_upright(std::vector<std::uint8_t>& out, Bytes bytes,
                                    const ImageHeader& header, std::uint8_t orientation,
                                    DecodeScratch& scratch, const Limits& limits) {
  const Size stored{static_cast<int>(header.width), static_cast<int>(header.height)};
  const std::size_t pixels = std::size_t{header.width} * header.height;
  out.resize((header.keep_alpha ? 4 : 3) * pixels);
  Turn turn(out.data(), header.keep_alpha ? out.data() + 3 * pixels : nullptr, stored, orientation);
  return decode(turn, bytes, header, {0, 0, stored.width, stored.height}, scratch, limits);
}

}  // namespace tundish
