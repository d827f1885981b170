// Assigns the members of a tar to samples and fields, following WebDataset's rule.
//
// Files whose paths agree up to the first dot of the base name form one sample, and are adjacent.
// The rest after the dot is the file's kind ("jpg", "cls", "mask.png"), in any case.
//   image  jpg jpeg png webp bmp gif ppm pgm tif tiff, or npy if there is none of these. Among
//          several kinds, one without a further dot is preferred, then the first kind in the
//          archive.
//   label  cls: numbers unchanged or names sorted, in every sample or in none. Numbers get the
//          names listed in the archive (data/source/labels.h), if any. Without .cls files,
//          the first folder below the folders common to all samples is the class.
//   others become fields named by their kind as spelled; in lower case, with a warning, if there
//          are several spellings. txt, text, json are text, npy an array, the rest bytes. A
//          sample without such a file gets an empty field, and so does a sample whose file is
//          empty, with a warning.
// Omitted with a warning: samples without an image, names without a dot or with a leading dot,
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
    std::uint64_t offset;  // offset of the data in the uncompressed archive
    std::uint64_t size;
    std::uint32_t field;
    std::uint32_t archive;  // archive number
  };

  Schema schema;
  StringTable keys;
  std::vector<std::int64_t> labels;       // -1: none
  std::vector<Part> parts;                // in the order of the archive
  std::vector<std::uint64_t> first_part;  // index of sample i's first part; one more at the end
  std::vector<std::string> warnings;      // without the name of the archive
  std::uint32_t archive = 0;              // archive to which a fault refers
};

// Makes one pass over the headers, and reads the data of .cls files only. Faults: tar_damaged,
// tar_duplicate, label_unreadable, source_empty, interrupted.
std::optional<Fault> index_tar(TarIndex& out, ByteStream& stream);

// Indexes several archives as one dataset: samples in order, labels and fields as in one archive.
// All files of a sample are in one archive. Class lists of archives must be equal. If several
// archives contain one name, every key begins with `names` of its archive and a
// slash. Faults as for index_tar(), about out.archive.
using OpenArchive = std::function<std::unique_ptr<ByteStream>(std::uint32_t archive)>;
std::optional<Fault> index_tars(TarIndex& out, std::span<const std::string> names,
                                const OpenArchive& open);

}  // namespace tundish
