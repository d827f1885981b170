#include "augment/transform.h"

namespace tundish {

Transform::Transform(const Transform&) = default;
Transform::Transform(Transform&&) noexcept = default;
Transform& Transform::operator=(const Transform&) = default;
Transform& Transform::operator=(Transform&&) noexcept = default;
Transform::~Transform() = default;
bool Transform::operator==(const Transform&) const = default;

}  // namespace tundish
