/* The C interface of Tundish: the only header others may include.
 *
 * No exception crosses it. A call that fails reports that by its result; tundish_last_error() then
 * gives what, where, why and what to do, for the thread that made the call. Objects may be used
 * from any thread, a loader's start and next by one at a time; none may be freed that another
 * thread still uses. Strings are UTF-8, paths are bytes.
 * Nothing here prints. Loading the library starts no thread.
 */
#ifndef TUNDISH_H
#define TUNDISH_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TUNDISH_ABI 4
#define TUNDISH_API __attribute__((visibility("default")))

/* Results of calls. */
enum {
  TUNDISH_OK = 0,
  TUNDISH_AGAIN = 1, /* the time is up; call again */
  TUNDISH_END = 2,   /* the epoch is over */
  TUNDISH_ERROR = 3,
};

TUNDISH_API uint32_t tundish_abi(void);
TUNDISH_API const char* tundish_version(void);

/* Text and number (203 of TND-203) of this thread's last error. Valid until its next call. */
TUNDISH_API const char* tundish_last_error(void);
TUNDISH_API int32_t tundish_last_error_code(void);
/* 1 when the error is about one bad sample, and other samples can be loaded. */
TUNDISH_API int32_t tundish_last_error_of_sample(void);

/* CPUs this process may use: affinity and cgroup quota. */
TUNDISH_API uint32_t tundish_usable_cpus(void);
/* Bytes this process may still take: available memory and cgroup limits. 0: not known. */
TUNDISH_API uint64_t tundish_memory_left(void);
/* 1 when page-locked memory is available; else 0, and tundish_last_error() gives the reason. */
TUNDISH_API int32_t tundish_can_pin(void);

/* --- sources: a pack, an image folder, a list, an archive, arrays -------------------------- */

typedef struct tundish_source tundish_source;

/* NULL on error. */
TUNDISH_API tundish_source* tundish_source_open(const char* path);
/* Sources of the same fields and classes, concatenated; it keeps them open. NULL on error. */
TUNDISH_API tundish_source* tundish_source_join(tundish_source** sources, uint64_t count);
/* A pack copied into an open file of the caller's; messages call it `path`. NULL on error. */
TUNDISH_API tundish_source* tundish_source_open_copy(const char* path, int32_t descriptor);
/* The same samples, kept on a local disk in at most `limit` bytes. NULL on error. */
TUNDISH_API tundish_source* tundish_source_cache(tundish_source* source, const char* folder,
                                                 uint64_t limit);
/* Four numbers of such a source: hits, misses, damaged records, bytes; zeros of any other. */
TUNDISH_API void tundish_source_cache_counts(const tundish_source* source, uint64_t* out);

/* Where the program `tundish` is, which reads the structure of HDF5 files. Before any opening. */
TUNDISH_API void tundish_set_program(const char* path);

/* Opens a source on a thread of the library, for a caller that must stay responsive: large
 * folders and archives take long. `options` is JSON with what the bytes do not say: {"format": "",
 * "image": "", "label": "", "axis": 0}, each of them optional; NULL for none. NULL on error. */
typedef struct tundish_opening tundish_opening;
TUNDISH_API tundish_opening* tundish_opening_new(const char* path, const char* options);
/* Waits at most timeout_ms. TUNDISH_OK gives the source, once. */
TUNDISH_API int32_t tundish_opening_wait(tundish_opening* opening, uint32_t timeout_ms,
                                         tundish_source** out);
/* Stops the opening if it is not done. Returns within a second: a thread that is stuck in a read is
 * left behind. */
TUNDISH_API void tundish_opening_free(tundish_opening* opening);

TUNDISH_API void tundish_source_close(tundish_source* source);
TUNDISH_API uint64_t tundish_source_count(const tundish_source* source);

/* JSON: {"count", "fields": [{"name", "type"}], "classes": [...], "fingerprint", "random_access",
 * "warnings"}. Lives as long as the source. */
TUNDISH_API const char* tundish_source_describe(const tundish_source* source);

/* All labels, one per sample; -1 for a sample without a label. */
TUNDISH_API int32_t tundish_source_labels(const tundish_source* source, int64_t* out);
/* Where labels are vectors: that of one sample, a number for each class. */
TUNDISH_API int32_t tundish_source_label_vector(const tundish_source* source, uint64_t sample,
                                                float* out);

/* --- loaders ------------------------------------------------------------------------------- */

/* What the JSON of a loader's options does not hold: lists, and a path. Everything is copied. */
typedef struct tundish_loader_lists {
  const int64_t* labels; /* one per sample; NULL: the source's */
  uint64_t label_count;
  const float* label_vectors;  /* instead: label_width numbers per sample; NULL: none */
  uint64_t label_vector_count; /* of all these numbers */
  uint64_t label_width;
  const uint64_t* samples; /* sample numbers, of groups group after group; NULL: all */
  uint64_t sample_count;
  const double* weights; /* by weight: one per sample; groups: one per group, NULL for equal ones */
  uint64_t weight_count;
  const uint64_t* group_sizes; /* groups: samples of each; NULL: a group is a class */
  uint64_t group_count;
  const char* trace; /* file for tundish_loader_write_trace(); NULL: nothing is recorded */
} tundish_loader_lists;

/* JSON: {"transforms", "options", "stats"}: every transform, loader option and statistic with its
 * arguments, their defaults and what they mean. Lives as long as the library. */
TUNDISH_API const char* tundish_reference(void);

/* Which random numbers transforms draw, for an image of this size. */
typedef struct tundish_draw {
  uint64_t width; /* of the image, in pixels */
  uint64_t height;
  uint64_t seed;
  uint64_t epoch;
  uint64_t sample;
  uint64_t repeat;
  uint64_t view; /* number of the view */
  uint64_t crop; /* which image of FiveCrop or TenCrop */
} tundish_draw;

/* JSON: what the transforms, a JSON list, would do to `count` samples from draw->sample on, a list:
 * {"image", "size", "steps", "dtype"}. Valid until this thread's next call; NULL on error. */
TUNDISH_API const char* tundish_plans(const char* transforms, const tundish_draw* draw,
                                      uint64_t count);

/* Does it. `rgb`: interleaved, 3 * width * height bytes. `out`: (height, width, 3) elements of the
 * plan's size and dtype, `bytes` of them. */
TUNDISH_API int32_t tundish_transform(const char* transforms, const tundish_draw* draw,
                                      const uint8_t* rgb, void* out, uint64_t bytes);

typedef struct tundish_loader tundish_loader;
typedef struct tundish_batch tundish_batch;

/* `options`: a JSON object; tundish_reference() lists its keys. `lists`: NULL for none.
 * Keeps the source open for itself. NULL on error. */
TUNDISH_API tundish_loader* tundish_loader_new(const tundish_source* source, const char* options,
                                               const tundish_loader_lists* lists);
/* Ends the threads; next() of another thread fails. Returns within a second, whatever they are
 * doing: how many did not come back and were left behind with all that they use.
 * tundish_last_error() then names what they are doing. The statistics of the loader stay readable.
 */
TUNDISH_API uint32_t tundish_loader_end(tundish_loader* loader);
/* Ends it first, where that was not done. No other call may be under way, or come later. */
TUNDISH_API void tundish_loader_free(tundish_loader* loader);

/* The next batch is the one of this epoch at this global position. */
TUNDISH_API int32_t tundish_loader_start(tundish_loader* loader, uint64_t epoch, uint64_t position);

/* Lends memory of the caller, aligned to 64 bytes: one of the next batches is made in it when it is
 * large enough (tundish_tensor_info.lent is then 1), others in memory of the library. It must stay
 * valid until that batch was handed out, or until tundish_loader_end() has returned 0. So batches
 * can be made in memory of a framework that knows who still reads it. */
TUNDISH_API int32_t tundish_loader_lend(tundish_loader* loader, void* memory, uint64_t bytes);

/* Waits at most timeout_ms. */
TUNDISH_API int32_t tundish_loader_next(tundish_loader* loader, uint32_t timeout_ms,
                                        tundish_batch** out);

/* Batches from a global position to the end of an epoch; the same on every rank. */
TUNDISH_API uint64_t tundish_loader_steps(const tundish_loader* loader, uint64_t position);

/* JSON: {"fingerprint", "order", "positions", "warnings"}. The fingerprint is of source,
 * order, seed and transforms; positions are those of an epoch; the order and the warnings are for
 * people. Lives as long as the loader. */
TUNDISH_API const char* tundish_loader_describe(const tundish_loader* loader);

/* JSON: the state of a run that is at this epoch and global position. Valid until this thread's
 * next call; NULL on error. */
TUNDISH_API const char* tundish_loader_state(const tundish_loader* loader, uint64_t epoch,
                                             uint64_t position);
/* The place that a state names. An error when this loader cannot go on from it. */
TUNDISH_API int32_t tundish_loader_read_state(const tundish_loader* loader, const char* text,
                                              uint64_t* epoch, uint64_t* position);

/* JSON: what the loader has done, as tundish_reference() lists the keys, and `tuning`: what
 * tune_threads changed. Valid until this thread's next call; NULL on error. */
TUNDISH_API const char* tundish_loader_stats(const tundish_loader* loader);

/* Positions whose sample was replaced, skipped or zeros. Cheap enough to call for every batch. */
TUNDISH_API uint64_t tundish_loader_bad_positions(const tundish_loader* loader);

/* The window of shares and quantiles begins again. */
TUNDISH_API void tundish_loader_new_window(tundish_loader* loader);

/* JSON array of the first 10,000: {"sample", "epoch", "position", "file", "record", "key",
 * "offset", "code", "reason", "text", "delivered", "replaced_by"}; null for what is not
 * known. `delivered` is what the batch has instead: "nothing", "substitute" or "zeros". `record` is
 * the number in that file, `sample` the one in all files of the loader. Valid until this thread's
 * next call. */
TUNDISH_API const char* tundish_loader_bad_samples(tundish_loader* loader);

/* For a caller that waits: what a thread has been reading or decoding for longer than this, one per
 * line, each reported once; NULL for nothing. Does not block. Valid until this thread's next
 * call. */
TUNDISH_API const char* tundish_loader_hanging(tundish_loader* loader, uint32_t limit_ms);

/* Records a trace for this file, from now on; NULL: no more. At any time. */
TUNDISH_API int32_t tundish_loader_trace(tundish_loader* loader, const char* path);
/* Writes the trace, as far as it has come; nothing when none was recorded. */
TUNDISH_API int32_t tundish_loader_write_trace(const tundish_loader* loader);

/* --- batches ------------------------------------------------------------------------------- */

typedef struct tundish_batch_info {
  uint64_t epoch;
  uint64_t next_position; /* global, after this batch */
  uint64_t count;         /* samples */
  uint64_t gpu_decoded;   /* of them, by the GPU */
  int32_t tensors;
  int32_t gpu_decodes; /* the GPU is to decode it */
} tundish_batch_info;

TUNDISH_API void tundish_batch_get_info(const tundish_batch* batch, tundish_batch_info* out);

/* One of the tensors of a batch. "images" (N, C, H, W), or with several views "images_0",
 * "images_1" and so on; with FiveCrop (N, 5, C, H, W); with images_as "list" N times "image" (C, H,
 * W); of samples without an image "array_0", "array_1" and so on (N, ...), one for each field of
 * arrays; "labels" (N); "samples" (N), their numbers; with return_sizes "sizes" (N, 2), heights and
 * widths. */
typedef struct tundish_tensor_info {
  const char* name; /* as long as the batch */
  void* data;       /* until the batch and its tensors are freed; NULL for a batch for a GPU */
  int32_t dtype;    /* 0 uint8, 1 float32, 2 float16, 3 bfloat16, 4 int64, 5 uint16, 6 bool, 7 int8,
                       8 int16, 9 int32, 10 uint32, 11 uint64, 12 float64 */
  int32_t dimensions;           /* at most 8 */
  int64_t shape[8], strides[8]; /* strides count elements */
  int32_t lent; /* data is memory that was lent; it is the caller's again, and stays as it is */
} tundish_tensor_info;
TUNDISH_API void tundish_batch_tensor_info(const tundish_batch* batch, int32_t which,
                                           tundish_tensor_info* out);

/* A DLManagedTensorVersioned (DLPack 1.0) that keeps the batch's memory alive by itself. NULL on
 * error. */
TUNDISH_API void* tundish_batch_tensor(tundish_batch* batch, int32_t which);

/* The bytes of a field of one sample, valid until the batch is freed. The image, the label and what
 * is a tensor of the batch have no bytes here. */
TUNDISH_API int32_t tundish_batch_field(const tundish_batch* batch, uint64_t place, uint32_t field,
                                        const void** bytes, uint64_t* size);

/* JSON array, one object per image: {"position", "sample", "repeat", "key", "label", "replaces",
 * "image", "size", "steps"}. Reads the images' heads again. Valid until this thread's next call;
 * NULL on error. */
TUNDISH_API const char* tundish_batch_plans(const tundish_loader* loader, tundish_batch* batch);

/* Tensors made from it stay valid. */
TUNDISH_API void tundish_batch_free(tundish_batch* batch);

/* One image as it is stored, a DLManagedTensorVersioned. mode "RGB": (H, W, 3) of uint8; "L": (H,
 * W) of uint8; "I;16": (H, W) of uint16. NULL on error. */
TUNDISH_API void* tundish_source_image(const tundish_source* source, uint64_t sample,
                                       int32_t exif_orientation, const char* mode);

/* --- a GPU --------------------------------------------------------------------------------- */

/* The lanes records of a source in a GPU's memory. */
typedef struct tundish_resident tundish_resident;

/* Takes the memory. NULL on error, also when it is too small. */
TUNDISH_API tundish_resident* tundish_resident_new(const tundish_source* source, int32_t device);
/* Loads so many more samples to the GPU. TUNDISH_END once all are loaded. */
TUNDISH_API int32_t tundish_resident_load(tundish_resident* resident, uint64_t samples);
TUNDISH_API uint64_t tundish_resident_bytes(const tundish_resident* resident);  /* in all */
TUNDISH_API uint64_t tundish_resident_loaded(const tundish_resident* resident); /* samples */
TUNDISH_API void tundish_resident_free(tundish_resident* resident); /* devices may still use it */

/* Takes batches of a loader made `for_gpu` to memory of a GPU. Used by one thread at a time. */
typedef struct tundish_device tundish_device;

/* Works on this cudaStream_t of the device, which must outlive it, as must the loader. resident:
 * NULL, or all loaded; then before the loader is started. NULL on error. */
TUNDISH_API tundish_device* tundish_device_new(tundish_loader* loader, int32_t device, void* stream,
                                               const tundish_resident* resident);
/* Enqueues the batch. `out`: GPU memory for each of its tensors, with their dtype, shape and
 * strides; NULL for labels or samples that are not wanted, and for sizes, which are in host memory
 * only. The batch may be freed at once. */
TUNDISH_API int32_t tundish_device_enqueue(tundish_device* device, const tundish_batch* batch,
                                           void* const* out);
/* So many batches are to be enqueued ahead of the one that the training loop gets. */
TUNDISH_API uint32_t tundish_device_lead(void);
/* Call for every batch that was enqueued, once the training loop's cudaStream_t waits for it;
 * `gpu_decodes` is that of its info. With decode="auto" this measures CPU and GPU in turn and then
 * lets the faster one decode. NULL, or once the reason of the choice, for people; valid until this
 * thread's next call. */
TUNDISH_API const char* tundish_device_handed_over(tundish_device* device, int32_t gpu_decodes,
                                                   void* stream);
/* Who decodes: 0 the CPU, 1 the GPU, -1 not chosen yet. */
TUNDISH_API int32_t tundish_device_decoding(const tundish_device* device);
/* An image that the GPU could not decode: it is all zeros. */
typedef struct tundish_refused {
  int64_t sample;
  uint64_t epoch, position;
  int32_t unit_x, unit_y; /* of its record: the first that could not be decoded */
  int32_t wanted;         /* no tundish_device_forget() since */
  int32_t pending;        /* 1: an image that was not entered yet; 0: this struct is empty */
} tundish_refused;
/* Frees the memory of batches that were copied since. `out`: one of their images that could not be
 * decoded and was not named before, if any; nothing is done while out->pending is 1. Does not
 * wait. */
TUNDISH_API int32_t tundish_device_poll_completed(tundish_device* device, tundish_refused* out);
/* Makes the image a bad sample of the loader, with the text that the CPU would have given, and
 * clears `pending`. Reads its record. An error when the loader fails for bad samples, or when not
 * one sample was good. */
TUNDISH_API int32_t tundish_loader_enter_refused(tundish_loader* loader, tundish_refused* refused);
/* The iteration was left: bad images of batches enqueued so far are only counted. */
TUNDISH_API void tundish_device_forget(tundish_device* device);
/* Waits until every batch was read by the GPU. */
TUNDISH_API void tundish_device_free(tundish_device* device);

/* --- optimizers ---------------------------------------------------------------------------- */

/* Updates parameter tensors of the caller. Used by one thread at a time. */
typedef struct tundish_optimizer tundish_optimizer;

/* One parameter tensor: arrays of `count` elements in one order, which stay the caller's. NULL:
 * there is none. */
typedef struct tundish_optimizer_tensor {
  void* parameter;
  void* gradient; /* NULL: the tensor is left out */
  void* state[2]; /* float: momentum or first moment, second moment; zeros before the first step */
  void* master;   /* float: the weights; the parameter is this, rounded to its type */
  void* average;  /* float: the exponential moving average of the weights */
  void* copy;     /* receives the weights rounded to copy_type */
  void* tensor_state; /* novograd: one float, the average of the gradient's norm */
  uint64_t count;
  int32_t parameter_type, gradient_type, copy_type; /* 0 float32, 1 bfloat16, 2 float16 */
  uint32_t group;                                   /* which group of the step */
} tundish_optimizer_tensor;

/* Hyper-parameters of tensors that are updated alike. Each optimizer reads its own. */
typedef struct tundish_optimizer_group {
  double lr, beta1, beta2, eps, weight_decay, momentum, dampening, trust_coefficient;
  int64_t step; /* the number of the step that is made now: 1 is the first one */
  int32_t nesterov, maximize, decoupled, always_adapt, trust_clip, grad_averaging;
  int32_t bias_correction, reg_inside_moment, init_zero, reserved;
  /* On a GPU, in its memory; NULL: the members above. */
  const void* lr_at; /* float */
  void* step_at; /* float: the steps made before this one; receives one more unless it is skipped */
} tundish_optimizer_group;

typedef struct tundish_optimizer_step_options {
  const tundish_optimizer_group* groups;
  uint64_t group_count;
  const float* scale;   /* gradients are divided by it first; NULL: by 1 */
  double max_norm;      /* limit of the norm of all gradients; 0: none */
  float* norm_out;      /* receives that norm; NULL: not wanted */
  float* found_inf;     /* not 0: nothing is updated; NULL: never skipped */
  double ema_decay;     /* of averages; 0: they stay as they are */
  uint64_t seed;        /* of stochastic rounding */
  void* stream;         /* a GPU's cudaStream_t */
  int32_t check_finite; /* found_inf becomes 1 when a gradient is not finite */
  int32_t clear_gradients, stochastic_rounding;
  int32_t skipped; /* out, on the CPU: 1 when found_inf made it skip the update */
} tundish_optimizer_step_options;

/* kind: 0 sgd, 1 adam, 2 adamw, 3 lion, 4 lars, 5 lamb, 6 novograd. device: -1 the CPU, else a
 * GPU, whose steps are launched on the stream and not waited for. threads, on the CPU: 0 for as
 * many as CPUs may be used. NULL on error. */
TUNDISH_API tundish_optimizer* tundish_optimizer_new(int32_t kind, int32_t device,
                                                     uint32_t threads);
TUNDISH_API void tundish_optimizer_free(tundish_optimizer* optimizer);
/* The tensors of the next steps, until the next call. The structs are copied. */
TUNDISH_API int32_t tundish_optimizer_bind(tundish_optimizer* optimizer,
                                           const tundish_optimizer_tensor* tensors, uint64_t count);
/* Other gradients of the bound tensors, of the same types; 0: the tensor is left out. */
TUNDISH_API int32_t tundish_optimizer_gradients(tundish_optimizer* optimizer,
                                                const uint64_t* addresses, uint64_t count);
/* For Python, with the GIL held: src/capi/optim_python.cpp says what they do and return. torch:
 * TorchFunctions of src/capi/torch_tensors.h. list: the bound objects, alive until bound again. */
TUNDISH_API int32_t tundish_optimizer_know(tundish_optimizer* own, const void* torch, void* list);
TUNDISH_API int32_t tundish_optimizer_find(tundish_optimizer* own, const void* torch, void* list);
TUNDISH_API void tundish_optimizer_bump_versions(tundish_optimizer* own, const void* torch);
TUNDISH_API int32_t tundish_torch_gradients_are(const void* torch, void* list, void* gradients);
TUNDISH_API int32_t tundish_values_are(const void* torch, void* dict, void* list);
TUNDISH_API int32_t tundish_entries_are(const void* torch, void* list, const void* own, uint64_t n);
TUNDISH_API int32_t tundish_optimizer_step(tundish_optimizer* optimizer,
                                           tundish_optimizer_step_options* options);

/* --- DLPack capsules ----------------------------------------------------------------------- */

/* Frees a tensor that no one consumed. */
TUNDISH_API void tundish_tensor_free(void* tensor);

/* The same tensor as a DLManagedTensor, for consumers older than DLPack 1.0; takes it over. NULL on
 * error. */
TUNDISH_API void* tundish_tensor_unversioned(void* tensor);

/* For Python: the addresses of PyCapsule_IsValid and PyCapsule_GetPointer, handed over once; then
 * tundish_capsule_destructor is a PyCapsule_Destructor. (A destructor written in Python would run
 * after the interpreter is gone.) */
TUNDISH_API void tundish_capsule_functions(void* is_valid, void* get_pointer);
TUNDISH_API void tundish_capsule_destructor(void* capsule);

#ifdef __cplusplus
}
#endif

#endif
