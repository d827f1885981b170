/* The C interface of Tundish: the only public header.
 *
 * No exception leaves the library. A failed call reports the failure in its result. For the thread
 * that made the call, tundish_last_error() then describes the error, its place, cause and fix.
 * Any thread may use an object, but only one thread at a time may call start or next of a loader.
 * Never free an object that another thread still uses. Strings are UTF-8; paths are bytes.
 * The library prints nothing. Loading it starts no thread.
 */
#ifndef TUNDISH_H
#define TUNDISH_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TUNDISH_ABI 5
#define TUNDISH_API __attribute__((visibility("default")))

/* Results of calls. */
enum {
  TUNDISH_OK = 0,
  TUNDISH_AGAIN = 1, /* timed out; call again */
  TUNDISH_END = 2,   /* end of the epoch */
  TUNDISH_ERROR = 3,
};

TUNDISH_API uint32_t tundish_abi(void);
TUNDISH_API const char* tundish_version(void);

/* Text and number (203 for TND-203) of this thread's last error. Valid until its next call. */
TUNDISH_API const char* tundish_last_error(void);
TUNDISH_API int32_t tundish_last_error_code(void);
/* 1 if the error concerns a single bad sample, so that other samples can be loaded. */
TUNDISH_API int32_t tundish_last_error_of_sample(void);

/* Number of CPUs this process may use, by affinity and cgroup quota. */
TUNDISH_API uint32_t tundish_usable_cpus(void);
/* Bytes this process may still allocate: available memory and cgroup limits. 0: unknown. */
TUNDISH_API uint64_t tundish_memory_left(void);
/* 1 if page-locked memory is available; otherwise 0, and tundish_last_error() has the reason. */
TUNDISH_API int32_t tundish_can_pin(void);

/* --- sources: a pack, an image folder, a list, an archive, arrays -------------------------- */

typedef struct tundish_source tundish_source;

/* NULL on error. */
TUNDISH_API tundish_source* tundish_source_open(const char* path);
/* Concatenates sources with equal fields and classes; keeps them open. NULL on error. */
TUNDISH_API tundish_source* tundish_source_join(tundish_source** sources, uint64_t count);
/* Copies a pack into an open file of the caller. Messages refer to it as `path`. NULL on error. */
TUNDISH_API tundish_source* tundish_source_open_copy(const char* path, int32_t descriptor);
/* The same samples, cached on a local disk in at most `limit` bytes. NULL on error. */
TUNDISH_API tundish_source* tundish_source_cache(tundish_source* source, const char* folder,
                                                 uint64_t limit);
/* Writes hits, misses, damaged records and bytes of a cached source; zeros for other sources. */
TUNDISH_API void tundish_source_cache_counts(const tundish_source* source, uint64_t* out);

/* Sets the path of the program `tundish`, which reads HDF5 structures. Call before any opening. */
TUNDISH_API void tundish_set_program(const char* path);

/* Opens a source on a library thread, for a caller that must stay responsive: large folders and
 * archives take long. `options` is JSON with optional keys that describe what the data does not:
 * {"format": "", "image": "", "label": "", "axis": 0}. NULL for none. Returns NULL on error. */
typedef struct tundish_opening tundish_opening;
TUNDISH_API tundish_opening* tundish_opening_new(const char* path, const char* options);
/* Waits at most timeout_ms. Passes the source to the caller once, with TUNDISH_OK. */
TUNDISH_API int32_t tundish_opening_wait(tundish_opening* opening, uint32_t timeout_ms,
                                         tundish_source** out);
/* Stops the opening if it is not done. Returns within a second and abandons a thread that is stuck
 * in a read. */
TUNDISH_API void tundish_opening_free(tundish_opening* opening);

TUNDISH_API void tundish_source_close(tundish_source* source);
TUNDISH_API uint64_t tundish_source_count(const tundish_source* source);

/* JSON: {"count", "fields": [{"name", "type"}], "classes": [...], "fingerprint", "random_access",
 * "warnings"}. Valid as long as the source. */
TUNDISH_API const char* tundish_source_describe(const tundish_source* source);

/* Writes one label per sample; -1 for a sample without a label. */
TUNDISH_API int32_t tundish_source_labels(const tundish_source* source, int64_t* out);
/* Writes the label vector of one sample, one number per class. For sources with label vectors. */
TUNDISH_API int32_t tundish_source_label_vector(const tundish_source* source, uint64_t sample,
                                                float* out);

/* --- loaders ------------------------------------------------------------------------------- */

/* Lists and a path, which the JSON of a loader's options does not contain. All are copied. */
typedef struct tundish_loader_lists {
  const int64_t* labels; /* one per sample; NULL: labels of the source */
  uint64_t label_count;
  const float* label_vectors;  /* replace labels: label_width numbers per sample; NULL: none */
  uint64_t label_vector_count; /* count of all numbers */
  uint64_t label_width;
  const uint64_t* samples; /* sample numbers, grouped if there are groups; NULL: all */
  uint64_t sample_count;
  const double* weights; /* one per sample, or per group if there are groups; NULL: equal weights */
  uint64_t weight_count;
  const uint64_t* group_sizes; /* samples per group; NULL: each class is a group */
  uint64_t group_count;
  const char* trace; /* file for tundish_loader_write_trace(); NULL: no trace */
} tundish_loader_lists;

/* JSON: {"transforms", "options", "stats"}: every transform, loader option and statistic with its
 * arguments, defaults and meaning. Valid as long as the library. */
TUNDISH_API const char* tundish_reference(void);

/* Selects the random numbers that transforms draw, for an image of this size. */
typedef struct tundish_draw {
  uint64_t width; /* of the image, in pixels */
  uint64_t height;
  uint64_t seed;
  uint64_t epoch;
  uint64_t sample;
  uint64_t repeat;
  uint64_t view; /* index of the view */
  uint64_t crop; /* index of the image in FiveCrop or TenCrop */
} tundish_draw;

/* JSON list of what the transforms (a JSON list) would do to `count` samples from draw->sample on:
 * {"image", "size", "steps", "dtype"}. Valid until this thread's next call; NULL on error. */
TUNDISH_API const char* tundish_plans(const char* transforms, const tundish_draw* draw,
                                      uint64_t count);

/* Applies the transforms. `rgb`: interleaved, 3 * width * height bytes. `out`: (height, width, 3)
 * elements of the plan's size and dtype, `bytes` in total. */
TUNDISH_API int32_t tundish_transform(const char* transforms, const tundish_draw* draw,
                                      const uint8_t* rgb, void* out, uint64_t bytes);

typedef struct tundish_loader tundish_loader;
typedef struct tundish_batch tundish_batch;

/* `options`: a JSON object; tundish_reference() lists its keys. `lists`: NULL for none.
 * Keeps the source open. NULL on error. */
TUNDISH_API tundish_loader* tundish_loader_new(const tundish_source* source, const char* options,
                                               const tundish_loader_lists* lists);
/* Stops the threads; a next() in another thread fails. Returns within a second. Returns the number
 * of threads that did not stop and were abandoned with everything they use; tundish_last_error()
 * then lists what they are doing. Statistics stay readable. */
TUNDISH_API uint32_t tundish_loader_end(tundish_loader* loader);
/* Ends the loader first if necessary. No other call may be running or follow. */
TUNDISH_API void tundish_loader_free(tundish_loader* loader);

/* Makes the batch of this epoch at this global position the next one. */
TUNDISH_API int32_t tundish_loader_start(tundish_loader* loader, uint64_t epoch, uint64_t position);

/* Lends memory of the caller, aligned to 64 bytes. A batch that fits may be made in it
 * (tundish_tensor_info.lent is then 1); other batches use memory of the library. The memory must
 * stay valid until that batch was delivered, or until tundish_loader_end() has returned 0. So a
 * framework that tracks the readers of its memory can own the memory of batches. */
TUNDISH_API int32_t tundish_loader_lend(tundish_loader* loader, void* memory, uint64_t bytes);

/* Waits at most timeout_ms. */
TUNDISH_API int32_t tundish_loader_next(tundish_loader* loader, uint32_t timeout_ms,
                                        tundish_batch** out);

/* Number of batches from a global position to the end of an epoch; equal on every rank. */
TUNDISH_API uint64_t tundish_loader_steps(const tundish_loader* loader, uint64_t position);

/* JSON: {"fingerprint", "order", "positions", "warnings"}. The fingerprint covers source, order,
 * seed and transforms. Positions are per epoch. The order and the warnings are human-readable.
 * Valid as long as the loader. */
TUNDISH_API const char* tundish_loader_describe(const tundish_loader* loader);

/* JSON: the state of a run at this epoch and global position. Valid until this thread's next call;
 * NULL on error. */
TUNDISH_API const char* tundish_loader_state(const tundish_loader* loader, uint64_t epoch,
                                             uint64_t position);
/* Reads epoch and position from a state. Fails if this loader cannot resume from it. */
TUNDISH_API int32_t tundish_loader_read_state(const tundish_loader* loader, const char* text,
                                              uint64_t* epoch, uint64_t* position);

/* JSON: statistics with the keys that tundish_reference() lists, and `tuning`: the changes made by
 * tune_threads. Valid until this thread's next call; NULL on error. */
TUNDISH_API const char* tundish_loader_stats(const tundish_loader* loader);

/* Number of positions whose sample was replaced, skipped or zeroed. Cheap: callable per batch. */
TUNDISH_API uint64_t tundish_loader_bad_positions(const tundish_loader* loader);

/* Restarts the window of shares and quantiles. */
TUNDISH_API void tundish_loader_new_window(tundish_loader* loader);

/* JSON array of the first 10,000: {"sample", "epoch", "position", "file", "record", "key",
 * "offset", "code", "reason", "text", "delivered", "replaced_by"}; null for unknown
 * values. `delivered` is the batch's replacement: "nothing", "substitute" or "zeros". `record` is
 * the number in the file, `sample` over all files. Valid until this thread's next call. */
TUNDISH_API const char* tundish_loader_bad_samples(tundish_loader* loader);

/* For a waiting caller: what threads have been reading or decoding for more than limit_ms, one per
 * line and once each; NULL if there is none. Never blocks. Valid until this thread's next call. */
TUNDISH_API const char* tundish_loader_hanging(tundish_loader* loader, uint32_t limit_ms);

/* Starts recording a trace for this file; NULL stops. Callable at any time. */
TUNDISH_API int32_t tundish_loader_trace(tundish_loader* loader, const char* path);
/* Writes the trace recorded so far; does nothing without a trace. */
TUNDISH_API int32_t tundish_loader_write_trace(const tundish_loader* loader);

/* --- batches ------------------------------------------------------------------------------- */

typedef struct tundish_batch_info {
  uint64_t epoch;
  uint64_t next_position; /* global, after this batch */
  uint64_t count;         /* samples */
  uint64_t gpu_decoded;   /* samples decoded by the GPU */
  int32_t tensors;
  int32_t gpu_decodes; /* the GPU must decode the batch */
} tundish_batch_info;

TUNDISH_API void tundish_batch_get_info(const tundish_batch* batch, tundish_batch_info* out);

/* One tensor of a batch. "images" (N, C, H, W), or "images_0", "images_1" and so on for several
 * views. With FiveCrop: (N, 5, C, H, W). With images_as "list": N times "image" (C, H, W). Samples
 * without an image: "array_0", "array_1" and so on (N, ...), one per array field. "labels" (N).
 * "samples" (N): sample numbers. With return_sizes: "sizes" (N, 2), heights and widths. */
typedef struct tundish_tensor_info {
  const char* name; /* valid as long as the batch */
  void* data;       /* until the batch and its tensors are freed; NULL for a batch for a GPU */
  int32_t dtype;    /* 0 uint8, 1 float32, 2 float16, 3 bfloat16, 4 int64, 5 uint16, 6 bool, 7 int8,
                       8 int16, 9 int32, 10 uint32, 11 uint64, 12 float64 */
  int32_t dimensions;           /* at most 8 */
  int64_t shape[8], strides[8]; /* strides count elements */
  int32_t lent; /* data is lent memory, which belongs to the caller again, contents included */
} tundish_tensor_info;
TUNDISH_API int32_t tundish_batch_tensor_info(const tundish_batch* batch, int32_t which,
                                              tundish_tensor_info* out);

/* A DLManagedTensorVersioned (DLPack 1.0) that keeps the batch's memory alive. NULL on error. */
TUNDISH_API void* tundish_batch_tensor(tundish_batch* batch, int32_t which);

/* The bytes of a field of one sample, valid until the batch is freed. Images, labels and fields
 * that are tensors of the batch have no bytes here. */
TUNDISH_API int32_t tundish_batch_field(const tundish_batch* batch, uint64_t place, uint32_t field,
                                        const void** bytes, uint64_t* size);

/* JSON array, one object per image: {"position", "sample", "repeat", "key", "label", "replaces",
 * "image", "size", "steps"}. Reads the image headers again. Valid until this thread's next call;
 * NULL on error. */
TUNDISH_API const char* tundish_batch_plans(const tundish_loader* loader, tundish_batch* batch);

/* Tensors made from the batch stay valid. */
TUNDISH_API void tundish_batch_free(tundish_batch* batch);

/* One stored image as a DLManagedTensorVersioned. mode "RGB": (H, W, 3) of uint8; "L": (H, W) of
 * uint8; "I;16": (H, W) of uint16; "RGBA": (H, W, 4) of uint8. NULL on error. */
TUNDISH_API void* tundish_source_image(const tundish_source* source, uint64_t sample,
                                       int32_t exif_orientation, const char* mode);

/* --- a GPU --------------------------------------------------------------------------------- */

/* The lanes records of a source, kept in GPU memory. */
typedef struct tundish_resident tundish_resident;

/* Allocates the memory. NULL on error, including too little memory. */
TUNDISH_API tundish_resident* tundish_resident_new(const tundish_source* source, int32_t device);
/* Loads `samples` more samples to the GPU. TUNDISH_END once all are loaded. */
TUNDISH_API int32_t tundish_resident_load(tundish_resident* resident, uint64_t samples);
TUNDISH_API uint64_t tundish_resident_bytes(const tundish_resident* resident);  /* total */
TUNDISH_API uint64_t tundish_resident_loaded(const tundish_resident* resident); /* samples */
TUNDISH_API void tundish_resident_free(tundish_resident* resident); /* devices may still use it */

/* Copies batches of a `for_gpu` loader to GPU memory. One thread at a time. */
typedef struct tundish_device tundish_device;

/* Works on this cudaStream_t of the device. The stream and the loader must outlive the result.
 * resident: NULL or fully loaded; if given, call before the loader starts. NULL on error. */
TUNDISH_API tundish_device* tundish_device_new(tundish_loader* loader, int32_t device, void* stream,
                                               const tundish_resident* resident);
/* Enqueues the batch. `out`: GPU memory for each tensor, with its dtype, shape and strides. NULL
 * skips labels or samples, and is required for sizes, which stay in host memory. The batch may be
 * freed at once. */
TUNDISH_API int32_t tundish_device_enqueue(tundish_device* device, const tundish_batch* batch,
                                           void* const* out);
/* Number of batches to enqueue ahead of the batch that the training loop receives. */
TUNDISH_API uint32_t tundish_device_prefetch_depth(void);
/* Call for every enqueued batch, once the training loop's cudaStream_t waits for it. `gpu_decodes`
 * is the field of its info. With decode="auto", measures CPU and GPU in turn and then selects the
 * faster decoder. Returns NULL, or once the human-readable reason of the choice, valid until this
 * thread's next call. */
TUNDISH_API const char* tundish_device_delivered(tundish_device* device, int32_t gpu_decodes,
                                                 void* stream);
/* The decoder: 0 the CPU, 1 the GPU, -1 not chosen yet. */
TUNDISH_API int32_t tundish_device_decoding(const tundish_device* device);
/* An image that the GPU could not decode; its pixels are zeros. */
typedef struct tundish_refused {
  int64_t sample;
  uint64_t epoch, position;
  int32_t unit_x, unit_y; /* first undecodable unit of its record */
  int32_t wanted;         /* 1: no tundish_device_abandon_iteration() since */
  int32_t pending;        /* 1: an image that was not reported yet; 0: this struct is empty */
} tundish_refused;
/* Frees the memory of batches whose copies have completed. `out`: receives one undecodable image
 * that was not reported before, if any. Does nothing while out->pending is 1. Never blocks. */
TUNDISH_API int32_t tundish_device_poll_completed(tundish_device* device, tundish_refused* out);
/* Records the image as a bad sample of the loader, with the text that the CPU would produce, and
 * clears `pending`. Reads its record. Fails if bad samples are errors for this loader, or if no
 * sample was good. */
TUNDISH_API int32_t tundish_loader_report_undecodable(tundish_loader* loader,
                                                      tundish_refused* refused);
/* Marks the iteration as abandoned: bad images of batches enqueued so far are only counted. */
TUNDISH_API void tundish_device_abandon_iteration(tundish_device* device);
/* Waits until the GPU has read every batch. */
TUNDISH_API void tundish_device_free(tundish_device* device);

/* --- optimizers ---------------------------------------------------------------------------- */

/* Updates parameter tensors of the caller. One thread at a time. */
typedef struct tundish_optimizer tundish_optimizer;

/* One parameter tensor: caller-owned arrays of `count` elements in the same order. NULL: no such
 * array. */
typedef struct tundish_optimizer_tensor {
  void* parameter;
  void* gradient; /* NULL: skips the tensor */
  void* state[2]; /* float: momentum or first moment, second moment; zeros before the first step */
  void* master;   /* float: the weights; the parameter is their rounded copy */
  void* average;  /* float: the exponential moving average of the weights */
  void* copy;     /* receives the weights rounded to copy_type */
  void* tensor_state; /* novograd: one float, the average of the gradient's norm */
  uint64_t count;
  int32_t parameter_type, gradient_type, copy_type; /* 0 float32, 1 bfloat16, 2 float16 */
  uint32_t group;                                   /* which group of the step */
} tundish_optimizer_tensor;

/* Hyper-parameters of a group of tensors. Each optimizer reads the members it uses. */
typedef struct tundish_optimizer_group {
  double lr, beta1, beta2, eps, weight_decay, momentum, dampening, trust_coefficient;
  int64_t step; /* number of the current step, from 1 */
  int32_t nesterov, maximize, decoupled, always_adapt, trust_clip, grad_averaging;
  int32_t bias_correction, reg_inside_moment, init_zero, reserved;
  /* Values in GPU memory; NULL: use the members above. */
  const void* lr_at; /* float */
  void* step_at;     /* float: number of completed steps; incremented unless skipped */
} tundish_optimizer_group;

typedef struct tundish_optimizer_step_options {
  const tundish_optimizer_group* groups;
  uint64_t group_count;
  const float* scale;   /* divides gradients before use; NULL: 1 */
  double max_norm;      /* maximum global gradient norm; 0 disables clipping */
  float* norm_out;      /* receives the global gradient norm; NULL: not needed */
  float* found_inf;     /* nonzero: the update is skipped; NULL: never skipped */
  double ema_decay;     /* for the averages; 0 leaves them unchanged */
  uint64_t seed;        /* for stochastic rounding */
  void* stream;         /* a GPU's cudaStream_t */
  int32_t check_finite; /* sets found_inf to 1 if a gradient is not finite */
  int32_t clear_gradients, stochastic_rounding;
  int32_t skipped; /* out, on the CPU: 1 if found_inf skipped the update */
} tundish_optimizer_step_options;

/* kind: 0 sgd, 1 adam, 2 adamw, 3 lion, 4 lars, 5 lamb, 6 novograd. device: -1 for the CPU, or a
 * GPU, whose steps are launched on the stream without waiting. threads: for the CPU; 0 uses every
 * available CPU. NULL on error. */
TUNDISH_API tundish_optimizer* tundish_optimizer_new(int32_t kind, int32_t device,
                                                     uint32_t threads);
TUNDISH_API void tundish_optimizer_free(tundish_optimizer* optimizer);
/* Binds tensors for the following steps, until the next call. Copies the structs. */
TUNDISH_API int32_t tundish_optimizer_bind(tundish_optimizer* optimizer,
                                           const tundish_optimizer_tensor* tensors, uint64_t count);
/* Replaces the gradients of the bound tensors, with the same types; 0 skips the tensor. */
TUNDISH_API int32_t tundish_optimizer_gradients(tundish_optimizer* optimizer,
                                                const uint64_t* addresses, uint64_t count);
/* For Python, with the GIL held; documented in src/capi/torch_tensors.cpp. functions:
 * TorchFunctions of src/capi/torch_tensors.h. parameters: a list of the bound objects, which must
 * stay alive until the next call. */
TUNDISH_API int32_t tundish_optimizer_register(tundish_optimizer* optimizer, const void* functions,
                                               void* parameters);
TUNDISH_API int32_t tundish_optimizer_find(tundish_optimizer* optimizer, const void* functions,
                                           void* parameters);
TUNDISH_API void tundish_optimizer_bump_versions(tundish_optimizer* optimizer,
                                                 const void* functions);
TUNDISH_API int32_t tundish_gradients_match(const void* functions, void* parameters,
                                            void* gradients);
TUNDISH_API int32_t tundish_values_match(const void* functions, void* dict, void* list);
TUNDISH_API int32_t tundish_entries_match(const void* functions, void* dicts, const void* known,
                                          uint64_t count);
TUNDISH_API int32_t tundish_optimizer_step(tundish_optimizer* optimizer,
                                           tundish_optimizer_step_options* options);

/* --- DLPack capsules ----------------------------------------------------------------------- */

/* Frees a tensor that no consumer took. */
TUNDISH_API void tundish_tensor_free(void* tensor);

/* Converts to a DLManagedTensor for consumers before DLPack 1.0; takes ownership. NULL on error. */
TUNDISH_API void* tundish_tensor_unversioned(void* tensor);

/* For Python: call once with the addresses of PyCapsule_IsValid and PyCapsule_GetPointer. Then
 * tundish_capsule_destructor works as a PyCapsule_Destructor. (A destructor in Python could run
 * after the interpreter has ended.) */
TUNDISH_API void tundish_capsule_functions(void* is_valid, void* get_pointer);
TUNDISH_API void tundish_capsule_destructor(void* capsule);

#ifdef __cplusplus
}
#endif

#endif
