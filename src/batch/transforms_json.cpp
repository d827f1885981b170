#include "batch/transforms_json.h"

namespace tundish {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const RandomResizedCrop& op) {
  return {"random_resized_crop",      op.size.width, op.size.height, op.scale, op.ratio,
          static_cast<int>(op.filter)};
}
Json json_of(const Resize& op) {
  return {"resize", op.size.width, op.size.height, op.max_size, static_cast<int>(op.filter)};
}
Json json_of(const CenterCrop& op) { return {"center_crop", op.size.width, op.size.height}; }
Json json_of(const RandomCrop& op) {
  return {"random_crop", op.size.width,    op.size.height,
          op.padding,    op.pad_if_needed, static_cast<int>(op.pad_mode),
          op.fill};
}
Json json_of(const RandomHorizontalFlip& op) { return {"random_horizontal_flip", op.p}; }
Json json_of(const RandomVerticalFlip& op) { return {"random_vertical_flip", op.p}; }
Json json_of(const Normalize& op) { return {"normalize", op.mean, op.std}; }
Json json_of(const ToDtype& op) { return {"to_dtype", static_cast<int>(op.dtype), op.scale}; }

Transform transform_of(const Json& from) {
  const std::string name = from.at(0).get<std::string>();
  const auto size = [&] { return Size{from.at(1).get<int>(), from.at(2).get<int>()}; };
  if (name == "random_resized_crop") {
    return RandomResizedCrop{.size = size(),
                             .scale = from.at(3),
                             .ratio = from.at(4),
                             .filter = number_in<Filter>(from.at(5), 2)};
  }
  if (name == "resize") {
    return Resize{
        .size = size(), .max_size = from.at(3), .filter = number_in<Filter>(from.at(4), 2)};
  }
  if (name == "center_crop") return CenterCrop{size()};
  if (name == "random_crop") {
    return RandomCrop{.size = size(),
                      .padding = from.at(3),
                      .pad_if_needed = from.at(4),
                      .pad_mode = number_in<PadMode>(from.at(5), 3),
                      .fill = from.at(6)};
  }
  if (name == "random_horizontal_flip") return RandomHorizontalFlip{from.at(1)};
  if (name == "random_vertical_flip") return RandomVerticalFlip{from.at(1)};
  if (name == "normalize") return Normalize{.mean = from.at(1), .std = from.at(2)};
  if (name == "to_dtype") return ToDtype{number_in<Dtype>(from.at(1), 3), from.at(2)};
  throw Error(ErrorCode::argument, {},
              fmt::format("a recipe with the unknown transform '{}'", printable(name)));
}

}  // namespace

Json transforms_json(const Transforms& transforms) {
  Json out = Json::array();
  for (const Transform& transform : transforms) {
    out.push_back(std::visit([](const auto& op) { return json_of(op); }, transform));
  }
  return out;
}

Transforms read_transforms(const Json& from) {
  Transforms out;
  for (const Json& one : from) {
    out.push_back(transform_of(one));
    // A number that its type does not hold would have become another one.
    if (std::visit([](const auto& op) { return json_of(op); }, out.back()) != one) {
      throw Error(ErrorCode::argument, {},
                  fmt::format("a recipe with arguments of '{}' that no loader writes",
                              one.at(0).get<std::string>()));
    }
  }
  return out;
}

}  // namespace tundish
