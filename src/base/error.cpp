#include "base/error.h"

#include <fmt/format.h>

#include <array>

#include "base/utf8.h"

namespace tundish {
namespace {

// One row per code, in numerical order. `tundish explain` and docs/errors.md show the rows.
constexpr std::array kTable = {
    ErrorEntry{ErrorCode::not_a_pack, "is not a Tundish pack",
               "The file does not begin with the eight bytes every pack begins with.",
               "check the name; make a pack with: tundish pack FOLDER -o OUT.tnd"},
    ErrorEntry{ErrorCode::unknown_version, "has a format version this program does not know",
               "The pack was written by a newer Tundish.", "install a newer tundish"},
    ErrorEntry{ErrorCode::head_damaged, "has a damaged head",
               "The first 64 bytes fail their checksum: the file changed after it was packed.",
               "copy the file again from where it was made, or pack it again; to save its intact "
               "records: tundish verify {file} --salvage OUT.tnd"},
    ErrorEntry{ErrorCode::unknown_feature, "needs a feature this program does not have",
               "An incompatible feature bit is set that this version does not know.",
               "install a newer tundish"},
    ErrorEntry{ErrorCode::incomplete, "is incomplete",
               "The end of the file is missing: a copy or a download stopped early. (A killed "
               "tundish pack leaves no such file, because it writes to a temporary one.)",
               "copy the file again from where it was made, or pack it again; to save its intact "
               "records: tundish verify {file} --salvage OUT.tnd"},
    ErrorEntry{
        ErrorCode::tail_damaged, "has a damaged tail",
        "The last bytes, which hold the position of every part, fail their checksum or contradict "
        "the file.",
        "copy the file again from where it was made, or pack it again; to save its intact "
        "records: tundish verify {file} --salvage OUT.tnd"},
    ErrorEntry{ErrorCode::index_damaged, "has a damaged index",
               "The index fails its checksum, or its lengths do not fill the file exactly.",
               "copy the file again from where it was made, or pack it again; to save its intact "
               "records: tundish verify {file} --salvage OUT.tnd"},
    ErrorEntry{ErrorCode::metadata_damaged, "has damaged metadata",
               "The JSON that describes the fields fails its checksum or contradicts itself.",
               "copy the file again from where it was made, or pack it again; to save its intact "
               "records: tundish verify {file} --salvage OUT.tnd"},
    ErrorEntry{
        ErrorCode::digest_differs, "differs from its checksum",
        "The checksum of the whole file differs from the stored one.",
        "tundish verify {file} names the damaged parts; copy the file again or pack it again"},
    ErrorEntry{ErrorCode::manifest_damaged, "is a damaged manifest",
               "A manifest is a JSON file that lists the shards of a dataset; this file is not "
               "JSON, or its figures contradict each other.",
               "copy the file again, or write it again: tundish pack --manifest {file} SHARD..."},
    ErrorEntry{ErrorCode::shard_differs, "is not the shard that the manifest lists",
               "The pack is missing, or its id, size or number of records differs from the "
               "manifest: it was not copied, was replaced, or belongs to another dataset.",
               "copy the shard again, or write the manifest again: tundish pack --manifest FILE "
               "SHARD..."},
    ErrorEntry{
        ErrorCode::nothing_salvaged, "has no record that can be salvaged",
        "No record is intact, or the parts needed to read the records are lost: the tables of "
        "re-coded JPEGs, or the shape and type of arrays. The same happens if a pack was "
        "interrupted before a record was written.",
        "copy the file again from where it was made, or pack it again; a pack with the same tables "
        "and fields, such as another shard, helps: tundish verify {file} --salvage OUT.tnd --like "
        "OTHER.tnd"},

    ErrorEntry{ErrorCode::no_such_record, "has no such record",
               "The record number is not less than the number of records.",
               "tundish info {file} prints the number of records"},
    ErrorEntry{ErrorCode::record_cut_off, "ends inside a record",
               "The file became shorter after it was opened.",
               "tundish verify {file} checks the whole file; copy it again or pack it again"},
    ErrorEntry{
        ErrorCode::record_checksum, "fails its checksum",
        "The bytes read differ from the bytes that were packed: the file changed afterwards (disk, "
        "copy or memory error).",
        "tundish verify {file} lists every damaged record; Loader(..., on_error=\"skip\") "
        "trains without it"},
    ErrorEntry{
        ErrorCode::padding_damaged, "has bytes other than zero between its parts",
        "The gaps between records must be zero. The records themselves are checked separately.",
        "copy the file again from where it was made, or pack it again"},
    ErrorEntry{ErrorCode::name_unsafe, "has a name that is unsafe as a file name",
               "The name is empty or absolute, contains '..', is too long, or leads through a file "
               "or a link. Unpacking it could write outside the target folder.",
               "tundish unpack {file} --record N -o NAME writes a record where you choose"},

    ErrorEntry{ErrorCode::source_missing, "does not exist", "No file or folder has this name.",
               "check the spelling and the folder you are in"},
    ErrorEntry{ErrorCode::source_empty, "holds no samples",
               "The folder has no file with an image extension, or the list, archive or data file "
               "is empty.",
               "an image folder looks like FOLDER/CLASS/NAME.jpg, a list has a column 'path'; "
               "if a format is not recognized, name it: --format NAME, in Python "
               "tundish.DataSource({file}, format=...)"},
    ErrorEntry{ErrorCode::source_unreadable, "cannot be read",
               "The operating system refused to list or read it.",
               "check the permissions and the disk"},
    ErrorEntry{
        ErrorCode::source_unknown, "is not a source that can be packed",
        "Neither its first bytes nor its name match a supported format.",
        "use a folder like FOLDER/CLASS/NAME.jpg, a list with a column 'path', a .tar, TFRecord, "
        "RecordIO (.rec) or LMDB file, arrays in a .npy, .npz, .pth, .safetensors, HDF5, Zarr, N5, "
        "CIFAR or MNIST file, or a pack (docs/sources.md); --format names the format if the bytes "
        "do not show it"},
    ErrorEntry{ErrorCode::class_empty, "is a class folder without images",
               "The class keeps its number, as in torchvision with allow_empty, but has no sample.",
               "remove the folder if the class is not meant to exist"},
    ErrorEntry{ErrorCode::tar_damaged, "is a damaged tar file",
               "A header fails its checksum, has a wrong size, or the archive ends early.",
               "test it with: tar tf {file}; fetch it again"},
    ErrorEntry{ErrorCode::tar_duplicate, "holds the same name twice",
               "Two members of the archive have the same name, or a sample has two files of the "
               "same kind.",
               "make the archive again with distinct names"},
    ErrorEntry{
        ErrorCode::csv_damaged, "is a list that cannot be read",
        "A row has a different number of columns from the first line, or a quote is not closed.",
        "correct the row; the first line names the columns, including 'path'"},
    ErrorEntry{ErrorCode::no_random_access, "can only be read from the beginning",
               "A compressed tar has no random access, so nothing can be trained from it directly.",
               "pack it first: tundish pack {file} -o OUT.tnd"},
    ErrorEntry{ErrorCode::file_empty, "is empty", "The file has no bytes.",
               "fetch it again or remove it"},
    ErrorEntry{ErrorCode::source_changed, "changed while it was read",
               "Its size is not the same as when the source was opened.",
               "run the command again when no other program writes to it"},
    ErrorEntry{ErrorCode::compression_damaged, "cannot be decompressed",
               "The compressed stream is damaged or ends early.", "fetch the file again"},
    ErrorEntry{ErrorCode::label_unreadable, "has a label that cannot be understood",
               "A label is neither a whole number nor a name, or some samples have no label.",
               "correct the list or the archive"},
    ErrorEntry{
        ErrorCode::source_damaged, "is damaged",
        "The bytes contradict the file's format, which the reason names: a wrong checksum, a "
        "length beyond the end of the file, or an early end.",
        "fetch the file again, or write it again with the program that made it"},
    ErrorEntry{ErrorCode::format_unsupported, "uses a part of its format that is not read",
               "The file may be valid. The reason names the format and the unsupported part.",
               "do as the reason says, or write the file without that part; docs/formats/ lists "
               "the supported parts of each format"},
    ErrorEntry{ErrorCode::format_not_built, "needs a library that this build does not have",
               "Formats that need a large library can be left out when Tundish is built.",
               "install a wheel that has it, or build again with the library; tundish --version "
               "lists the formats"},
    ErrorEntry{ErrorCode::helper_failed, "ended the process that reads its structure",
               "A library reads the structure of this format in a separate process, with limits on "
               "memory and time. That process crashed or reached a limit: the file is "
               "damaged, malicious or very large.",
               "test the file with the program that made it; write it again"},
    ErrorEntry{ErrorCode::field_unclear, "does not say which part is the image or the label",
               "The file has several arrays or features, and none, or more than one, has a "
               "name that shows its meaning.",
               "do as the reason says, or name them: --image NAME --label NAME, in Python "
               "tundish.DataSource(\"{file}\", image=..., label=...)"},
    ErrorEntry{
        ErrorCode::sample_raised, "raised an exception for a sample",
        "The Python dataset raised an exception when this sample was requested. The traceback "
        "follows.",
        "load this sample from the dataset in Python; skip_bad=True leaves such samples out"},
    ErrorEntry{ErrorCode::sample_differs, "has a sample that differs from the first ones",
               "The first samples of a Python dataset determine its fields, their types and the "
               "shapes of arrays. A later sample differs.",
               "make all samples alike; same_shape=False lets the shapes of arrays vary; "
               "skip_bad=True leaves such samples out"},
    ErrorEntry{ErrorCode::worker_ended, "lost a process that reads its samples",
               "Python processes read the samples of a Python dataset. One process exited, was "
               "killed (out of memory?) or sent something that is not a sample.",
               "read the output of the process; fewer processes need less memory: processes=1; "
               "processes=0 reads the samples in the calling process"},
    ErrorEntry{
        ErrorCode::nothing_chosen, "has no selected sample",
        "The dataset has samples, but the filter, --subset or a part of the split selects none.",
        "change the filter, the sample, the share or --seed; tundish info {file} --list "
        "shows keys and labels"},
    ErrorEntry{
        ErrorCode::all_refused, "has no sample that can be packed",
        "Every sample was refused. The message has the reason for the first sample. Nothing was "
        "written.",
        "fix the samples, or use another source; tundish explain CODE explains the code of a "
        "sample"},

    ErrorEntry{ErrorCode::not_an_image, "is not an image",
               "Its first bytes belong to no image format (an error page saved as .jpg?).",
               "check what it contains; fetch it again or remove it"},
    ErrorEntry{
        ErrorCode::codec_unsupported, "is an image in a format that cannot be decoded",
        "JPEG, PNG, WebP, BMP, GIF and uint8 .npy are decoded; other formats are packed unchanged "
        "and can only be unpacked.",
        "convert it to JPEG or PNG before packing"},
    ErrorEntry{ErrorCode::image_header, "has a damaged image header",
               "The header, which contains the size of the image, is invalid or cut off.",
               "open it with another program; fetch it again or remove it"},
    ErrorEntry{ErrorCode::image_too_large, "is larger than the limits allow",
               "Its header claims more pixels, a longer side, more scans or more bytes than "
               "allowed, so no memory was allocated for it.",
               "docs/limits.md lists the limits; make the image smaller if it is real"},
    ErrorEntry{ErrorCode::image_damaged, "has damaged image data",
               "The decoder found bytes that no encoder writes.",
               "open it with another program; fetch it again or remove it"},
    ErrorEntry{ErrorCode::image_cut_off, "is an image cut short",
               "The data ends before the last row.", "fetch it again or remove it"},
    ErrorEntry{ErrorCode::image_kind, "is not the kind of image that is needed",
               "An array used as an image must be uint8 of shape (H, W), (H, W, 1) or (H, W, 3). "
               "Loader(mode=\"I;16\") needs 16-bit grayscale PNGs.",
               "store an array in another field, or convert it; omit mode=, or use images of that "
               "kind"},
    ErrorEntry{ErrorCode::over_budget, "needs more memory than the loader may use",
               "The header of an image shows how much memory decoding takes. This memory is "
               "counted against Loader(memory=...) before decoding begins.",
               "use a larger memory=, smaller batches or a smaller prefetch; or make the image "
               "smaller (progressive JPEGs and interlaced PNGs are kept in memory as a whole)"},

    ErrorEntry{ErrorCode::io_read, "could not be read",
               "The system reported an error while reading.",
               "check the disk and the network file system; try again"},
    ErrorEntry{
        ErrorCode::io_write, "could not be written",
        "The system reported an error while writing. There is no half-written file under the "
        "target's name.",
        "check the disk; then run the command again"},
    ErrorEntry{
        ErrorCode::disk_full, "does not fit on the disk",
        "There is not enough space (or quota). There is no half-written file under the target's "
        "name. tundish pack keeps the samples it has packed under a hidden name.",
        "free some space, or raise the limit that the reason names, and run the command again; or "
        "write to another disk"},
    ErrorEntry{ErrorCode::no_permission, "cannot be accessed", "The permissions do not allow it.",
               "change the permissions, or use another place"},
    ErrorEntry{ErrorCode::no_memory, "needs more memory than there is", "An allocation failed.",
               "close other programs, use fewer threads or smaller batches"},
    ErrorEntry{ErrorCode::output_exists, "exists already", "Nothing was changed.",
               "use another name, or replace it: --force, in Python force=True"},
    ErrorEntry{
        ErrorCode::interrupted, "was interrupted",
        "There is no half-written file under the target's name, and an older file with that name "
        "is unchanged. pack, split and merge keep the samples they have packed under hidden names.",
        "run the same command again; it continues with the samples that are kept, and starts over "
        "if none are"},
    ErrorEntry{ErrorCode::thread_stuck, "has a thread that is stuck",
               "A loader was ended while a thread was reading or decoding, and the thread did not "
               "return within 0.9 seconds. The thread was abandoned with its resources; nothing "
               "else waits for it.",
               "check the disk or the network file system that holds the record"},
    ErrorEntry{ErrorCode::gpu, "was refused by the GPU or its driver",
               "A call of the CUDA runtime failed; the reason is the text of the driver.",
               "check that nvidia-smi lists the GPU with free memory, and that its driver supports "
               "CUDA 13"},
    ErrorEntry{ErrorCode::output_busy, "is being written by another process",
               "Another tundish pack has the lock of this target; the lock ends with its process.",
               "wait for it, end it, or use another name"},

    ErrorEntry{ErrorCode::argument, "got an invalid argument",
               "The message names the argument and the reason.",
               "change the argument as the reason says; docs/reference.md lists the valid values"},
    ErrorEntry{ErrorCode::unequal_sizes, "gives images of unequal size",
               "A batch is one array, so all its images must have the same size.",
               "add Resize((H, W)), RandomResizedCrop, or Resize followed by CenterCrop to the "
               "transforms; or use pad_to=(H, W), or images_as=\"list\""},
    ErrorEntry{
        ErrorCode::wrong_state, "cannot continue from this state",
        "The state was saved with other data, another seed, other transforms or another order.",
        "create the loader with the same data and arguments as when the state was saved (the "
        "reason names the difference); or start an epoch from its beginning with set_epoch()"},
    ErrorEntry{ErrorCode::used_after_fork, "was made before a fork",
               "The loader's threads exist only in the parent process.",
               "create the loader in the child process"},
    ErrorEntry{
        ErrorCode::too_many_bad, "has too many bad samples",
        "More of an epoch's samples were bad than max_bad allows; or sixteen replacements for a "
        "bad sample were bad as well; or a loader that skips bad samples found no good sample "
        "among the first 100, or in a whole epoch.",
        "loader.bad_samples() lists them; for a pack, so does: tundish verify {file} --pixels"},
    ErrorEntry{ErrorCode::closed, "is closed", "The loader was closed and used afterwards.",
               "create a new one"},
    ErrorEntry{ErrorCode::budget_too_small, "does not fit into the memory given",
               "The batches, the index and some memory for every thread must fit into "
               "Loader(memory=...); docs/loader-performance.md explains how memory is counted.",
               "use a larger memory=, or a smaller batch_size, prefetch or threads"},
};

// Returns the remedy with the file's name filled in. A single pass leaves a "{file}" inside the
// name alone.
std::string remedy_for(std::string_view remedy, const std::string& file) {
  constexpr std::string_view kPlaceholder = "{file}";
  std::string out;
  for (std::size_t at; (at = remedy.find(kPlaceholder)) != std::string_view::npos;) {
    out += remedy.substr(0, at);
    out += file.empty() ? "FILE" : file;
    remedy.remove_prefix(at + kPlaceholder.size());
  }
  return out += remedy;
}

std::string describe(ErrorCode code, const Where& where, const std::string& reason) {
  const ErrorEntry* entry = find_error(code);
  const std::string file = printable(where.file);
  std::string text = error_name(code) + ' ';
  if (!where.file.empty()) text += file + ": ";
  if (where.record) text += "record " + with_commas(*where.record) + ' ';
  if (!where.key.empty()) {
    text += where.record ? '(' + printable(where.key) + ") " : printable(where.key) + ' ';
  }
  text += entry ? entry->title : "is wrong";
  if (where.offset) text += " at byte " + with_commas(*where.offset);
  if (!reason.empty()) text += "\n  why: " + reason;
  if (entry) text += "\n  fix: " + remedy_for(entry->remedy, file);
  return text;
}

Where with_offset(Where where, std::uint64_t offset) {
  where.offset = where.offset.value_or(0) + offset;
  return where;
}

}  // namespace

std::span<const ErrorEntry> error_table() { return kTable; }

const ErrorEntry* find_error(ErrorCode code) {
  for (const ErrorEntry& entry : kTable) {
    if (entry.code == code) return &entry;
  }
  return nullptr;
}

std::string error_name(ErrorCode code) { return fmt::format("TND-{:03}", static_cast<int>(code)); }

Error::Error(ErrorCode code, Where where, std::string reason)
    : std::runtime_error(describe(code, where, reason)),
      code_(code),
      where_(std::move(where)),
      reason_(std::move(reason)) {}

Error::Error(const Fault& fault, Where where)
    : Error(fault.code, with_offset(std::move(where), fault.offset), fault.reason) {}

std::string with_commas(std::uint64_t value) {
  const std::string digits = std::to_string(value);
  std::string out;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
}

std::string printable(const std::string& name) {
  std::string out;
  for (std::size_t i = 0; i < name.size();) {
    const auto lead = static_cast<unsigned char>(name[i]);
    const std::size_t length = utf8_length(std::string_view(name).substr(i));
    const bool control = length == 1 && (lead < 0x20 || lead == 0x7f);
    if (length == 0 || control) {
      out += fmt::format("\\x{:02x}", lead);
      ++i;
    } else {
      out.append(name, i, length);
      i += length;
    }
  }
  return out;
}

}  // namespace tundish
