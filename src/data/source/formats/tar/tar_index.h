// Which members of a tar are which fields of which samples: WebDataset's rule.
//
// Files whose paths agree up to the first dot of the base name are one sample, and are next to
// each other; what follows the dot is the file's kind ("jpg", "cls", "mask.png"), in any case.
//   image  jpg jpeg png webp bmp gif ppm pgm tif tiff, or npy when there is none of these. Of
//   several
//          kinds one without a further dot is taken, then the one the archive began with.
//   label  cls: numbers as they are or names sorted, in every sample or in none. Numbers have the
//          names that the archive lists (data/source/labels.h), when it does. Without any,
//          the first folder is the class, below the folders that all samples have in common.
//   others become fields named by their kind, as it is spelled; in lower case, with a warning, when
//          it is spelled in several ways. txt, text, json are text, npy an array, the rest bytes. A
//          sample that has no such file gets an empty field; so does one whose file is empty, with
//          a warning.
// Left out, with a warning: samples without an image, names without a dot or that begin with one,
// names longer than 4,000 bytes.
// The key is the path of the image: cleaned, without leading "/" and "..".
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/source/byte_stream.h"
#include "data/source/source.h"
#include "data/source/string_table.h"

namespace tundish {

struct TarIndex {
  struct Part {
    std::uint64_t offset;  // of the data in the uncompressed archive
    std::uint64_t size;
    std::uint32_t field;
    std::uint32_t archive;  // of several: which one
  };

  Schema schema;
  StringTable keys;
  std::vector<std::int64_t> labels;       // -1: none
  std::vector<Part> parts;                // in the order of the archive
  std::vector<std::uint64_t> first_part;  // of sample i; one more at the end
  std::vector<std::string> warnings;      // without the name of the archive
  std::uint32_t archive = 0;              // of several: the one that a fault is about
};

// One pass over the headers; of the data only .cls files are read. Faults: tar_damaged,
// tar_duplicate, label_unreadable, source_empty, interrupted.
std::optional<Fault> index_tar(TarIndex& out, ByteStream& stream);

// Several archives as one data set: their samples in order, with labels and fields as if all were
// in one archive; files of one sample are in one of them. Classes that archives list must be the
// same. Where one name is in several archives, every key begins with `names` of its archive and a
// slash. Faults as index_tar(), about out.archive.
using OpenArchive = std::function<std::unique_ptr<ByteStream>(std::uint32_t archive)>;
std::optional<Fault> index_tars(TarIndex& out, std::span<const std::string> names,
                                const OpenArchive& open);

}  // namespace tundish
