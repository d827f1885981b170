#include "base/fields.h"

namespace tundish {

std::string range_text(const FieldInfo& field) {
  const bool from = field.low > -kMaxNumber, to = field.high < kMaxNumber;
  if (!from && !to) return "";
  if (!to) return fmt::format(" of at least {}", field.low);
  if (!from) return fmt::format(" of at most {}", field.high);
  return fmt::format(" from {} to {}", field.low, field.high);
}

void refuse_argument(const std::string& owner, const std::string& text) {
  throw Error(ErrorCode::argument, {}, owner.empty() ? text : owner + ": " + text);
}

void CheckRanges::refuse_value(const FieldInfo& field, const std::string& wanted,
                               const std::string& value) const {
  refuse_argument(owner_, fmt::format("{} must be {}, not {}", field.name, wanted, value));
}

}  // namespace tundish
