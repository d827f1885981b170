#include "cli/pack/proof_report.h"

#include <fmt/format.h>

#include "cli/text.h"

namespace tundish::cli {

Json proof_json(const Proof& proof) {
  Json out{{"records", proof.records},
           {"kept", proof.kept},
           {"equal", proof.equal},
           {"different", Json::array()},
           {"lossy", proof.lossy},
           {"psnr_min", proof.psnr_min ? Json(*proof.psnr_min) : Json()},
           {"psnr_median", proof.psnr_median ? Json(*proof.psnr_median) : Json()},
           {"bytes_before", proof.bytes_before},
           {"bytes_after", proof.bytes_after},
           {"before_us", proof.before_us},
           {"after_us", proof.after_us}};
  for (const std::string& key : proof.different) out["different"].push_back(json_text(key));
  return out;
}

void print_proof(const Proof& proof, const Shell& shell) {
  std::string text = fmt::format("{}: {} kept as they came", counted(proof.records, "record"),
                                 with_commas(proof.kept));
  if (proof.equal > 0) {
    text +=
        fmt::format(", {} equal to the same work on line, every pixel", with_commas(proof.equal));
  }
  if (proof.psnr_min && proof.psnr_median) {
    text += fmt::format(", {} with a PSNR of {:.1f} dB (median) and {:.1f} dB (least)",
                        counted(proof.lossy, "JPEG"), *proof.psnr_median, *proof.psnr_min);
  }
  if (!proof.different.empty()) {
    text += fmt::format(", {} DIFFERENT, the first is {}", with_commas(proof.different.size()),
                        printable(proof.different.front()));
  }
  shell.line("proof", text);
  const auto row = [&](const char* word, std::uint64_t bytes, double us) {
    const std::uint64_t each = proof.records == 0 ? 0 : bytes / proof.records;
    shell.line(word, fmt::format("{:>12} bytes {:>8.0f} us  per image", with_commas(each), us));
  };
  row("on line", proof.bytes_before, proof.before_us);
  row("packed", proof.bytes_after, proof.after_us);
}

}  // namespace tundish::cli
