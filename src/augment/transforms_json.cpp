#include "augment/transforms_json.h"

#include "augment/transform.h"

namespace tundish {
namespace {

// Calls make() with a value of each transform type of the variant.
template <class Make, class... Ops>
void for_each_transform(std::variant<Ops...>*, const Make& make) {
  (make(Ops{}), ...);
}
template <class Make>
void for_each_transform(const Make& make) {
  for_each_transform(static_cast<AnyTransform*>(nullptr), make);
}

Transform read_transform(const Json& from) {
  if (!from.is_object() || !from.contains("name") || !from["name"].is_string()) {
    refuse_argument("transforms", "each must be an object with a name");
  }
  const std::string& name = from["name"].get_ref<const std::string&>();
  std::optional<Transform> out;
  std::vector<std::string> names;
  for_each_transform([&]<class Op>(Op op) {
    names.emplace_back(Op::kName);
    if (name != Op::kName) return;
    read_fields(op, from, name);
    out.emplace(std::move(op));
  });
  if (out) return *out;
  refuse_argument("transforms", fmt::format("'{}' is not a transform; there are: {}",
                                            shown_text(name), fmt::join(names, ", ")));
}

}  // namespace

Json transforms_json(const Transforms& transforms) {
  Json out = Json::array();
  for (const Transform& transform : transforms.list()) {
    std::visit(
        [&]<class Op>(const Op& op) {
          Json one{{"name", Op::kName}};
          one.update(json_of_fields(op));
          out.push_back(std::move(one));
        },
        transform);
  }
  return out;
}

Transforms read_transforms(const Json& from) {
  if (!from.is_array()) refuse_argument("transforms", "must be a list");
  std::vector<Transform> out;
  for (const Json& one : from) out.push_back(read_transform(one));
  return out;
}

Json transforms_reference() {
  Json out = Json::array();
  for_each_transform([&]<class Op>(const Op&) { out.push_back(reference_of<Op>()); });
  return out;
}

}  // namespace tundish
