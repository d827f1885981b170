/* Fake NVML for src/base/machine/nvml.cpp on machines without a GPU. FAKE_NVML holds values by
 * name, "name=number,...": absent names report a healthy GPU, "name=none" is unsupported. "count":
 * number of GPUs; "start": error of nvmlInit; "hostile": unterminated texts with strange bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long u64;
struct pci {
  char old_bus[16];
  unsigned domain, bus, device, identity, subsystem;
  char bus_text[32];
};
struct memory {
  u64 total, free, used;
};
struct utilization {
  unsigned gpu, memory;
};

static int ask(u64* out, const char* name, u64 usual) {
  const char* text = getenv("FAKE_NVML");
  const size_t length = strlen(name);
  *out = usual;
  for (; text && *text; text = strchr(text, ',') ? strchr(text, ',') + 1 : "") {
    if (strncmp(text, name, length) != 0 || text[length] != '=') continue;
    if (strncmp(text + length + 1, "none", 4) == 0) return 3; /* not supported */
    *out = strtoull(text + length + 1, NULL, 0);
  }
  return 0;
}

static int number(unsigned* out, const char* name, u64 usual) {
  u64 value;
  const int fault = ask(&value, name, usual);
  if (fault == 0) *out = (unsigned)value;
  return fault;
}

static int text(char* out, unsigned bytes, const char* usual) {
  u64 hostile;
  ask(&hostile, "hostile", 0);
  if (hostile) {
    memset(out, 0xff, bytes);
  } else {
    snprintf(out, bytes, "%s", usual);
  }
  return 0;
}

int nvmlInit_v2(void) {
  u64 fault;
  ask(&fault, "start", 0);
  return (int)fault;
}
int nvmlShutdown(void) { return 0; }
int nvmlSystemGetDriverVersion(char* out, unsigned bytes) { return text(out, bytes, "550.54.15"); }
int nvmlSystemGetCudaDriverVersion_v2(int* out) {
  unsigned value = 0;
  const int fault = number(&value, "cuda", 12040);
  *out = (int)value;
  return fault;
}
int nvmlDeviceGetCount_v2(unsigned* out) { return number(out, "count", 1); }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** out) {
  *out = (void*)(size_t)(index + 1);
  return 0;
}
int nvmlDeviceGetName(void* device, char* out, unsigned bytes) {
  (void)device;
  return text(out, bytes, "NVIDIA Fake 100");
}
int nvmlDeviceGetUUID(void* device, char* out, unsigned bytes) {
  (void)device;
  return text(out, bytes, "GPU-0");
}
int nvmlDeviceGetPciInfo_v3(void* device, struct pci* out) {
  (void)device;
  memset(out, 0, sizeof *out);
  return text(out->bus_text, sizeof out->bus_text, "00000000:3B:00.0");
}
int nvmlDeviceGetMemoryInfo(void* device, struct memory* out) {
  (void)device;
  if (ask(&out->total, "memory", (u64)80 << 30)) return 3;
  ask(&out->used, "memory_used", (u64)1 << 30);
  out->free = out->total - out->used;
  return 0;
}
int nvmlDeviceGetUtilizationRates(void* device, struct utilization* out) {
  (void)device;
  out->memory = 7;
  return number(&out->gpu, "busy", 35);
}
int nvmlDeviceGetTemperature(void* device, unsigned sensor, unsigned* out) {
  (void)device;
  return sensor ? 2 : number(out, "temperature", 41);
}
int nvmlDeviceGetPowerUsage(void* device, unsigned* out) {
  (void)device;
  return number(out, "power", 120000);
}
int nvmlDeviceGetPowerManagementLimit(void* device, unsigned* out) {
  (void)device;
  return number(out, "power_limit", 700000);
}
int nvmlDeviceGetPowerManagementDefaultLimit(void* device, unsigned* out) {
  (void)device;
  return number(out, "default_power_limit", 700000);
}
int nvmlDeviceGetClockInfo(void* device, unsigned clock, unsigned* out) {
  (void)device;
  return number(out, clock == 1 ? "sm_clock" : "memory_clock", clock == 1 ? 1980 : 2600);
}
int nvmlDeviceGetMaxClockInfo(void* device, unsigned clock, unsigned* out) {
  (void)device;
  return number(out, clock == 1 ? "max_sm_clock" : "max_memory_clock", clock == 1 ? 1980 : 2600);
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, u64* out) {
  (void)device;
  return ask(out, "slowdown", 1);
}
int nvmlDeviceGetCurrPcieLinkGeneration(void* device, unsigned* out) {
  (void)device;
  return number(out, "pcie_generation", 5);
}
int nvmlDeviceGetMaxPcieLinkGeneration(void* device, unsigned* out) {
  (void)device;
  return number(out, "max_pcie_generation", 5);
}
int nvmlDeviceGetGpuMaxPcieLinkGeneration(void* device, unsigned* out) {
  (void)device;
  return number(out, "gpu_pcie_generation", 5);
}
int nvmlDeviceGetCurrPcieLinkWidth(void* device, unsigned* out) {
  (void)device;
  return number(out, "pcie_width", 16);
}
int nvmlDeviceGetMaxPcieLinkWidth(void* device, unsigned* out) {
  (void)device;
  return number(out, "max_pcie_width", 16);
}
int nvmlDeviceGetEccMode(void* device, unsigned* now, unsigned* next) {
  (void)device;
  *next = 1;
  return number(now, "ecc", 1);
}
int nvmlDeviceGetTotalEccErrors(void* device, unsigned kind, unsigned counter, u64* out) {
  (void)device;
  return kind == 1 && counter == 0 ? ask(out, "uncorrected_errors", 0) : 2;
}
int nvmlDeviceGetRemappedRows(void* device, unsigned* corrected, unsigned* uncorrected, unsigned* pending,
                              unsigned* failed) {
  (void)device;
  *corrected = *uncorrected = *failed = 0;
  number(failed, "remap_failed", 0);
  return number(pending, "remap_pending", 0);
}
int nvmlDeviceGetPersistenceMode(void* device, unsigned* out) {
  (void)device;
  return number(out, "persistence", 1);
}
