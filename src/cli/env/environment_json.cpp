#include "cli/env/environment_json.h"

#include "base/version.h"
#include "cli/env/environment_report.h"

namespace tundish::cli {

Json environment_json(const Findings& findings, double seconds) {
  Json out;
  out["version"] = version();
  out["worst"] = level_name(worst_level(findings));
  out["counts"] = Json::object();
  for (const Level level : {Level::ok, Level::warning, Level::problem})
    out["counts"][level_name(level)] = count_of(findings, level);
  out["seconds"] = seconds;
  out["findings"] = Json::array();
  for (const Finding& one : findings) {
    Json values = Json::object();
    for (const auto& [name, value] : one.values) values[json_text(name)] = value;
    out["findings"].push_back({{"area", json_text(one.area)},
                               {"name", json_text(one.name)},
                               {"level", level_name(one.level)},
                               {"figure", json_text(one.figure)},
                               {"reason", json_text(one.reason)},
                               {"fix", json_text(one.fix)},
                               {"values", std::move(values)}});
  }
  return out;
}

}  // namespace tundish::cli
