/* A Vulkan loader before the real one. Its device has as many queues as a test wants, and the driver number that it sets. The device hangs
   or is lost when the test requests it.

   All queues of the device submit to a single real queue. A held queue keeps its submissions until it is released, so their fences and
   semaphores are not signalled. The first few submissions can pass. On request, functions that destroy wait, as in some drivers that wait for running work.
   Destroyed objects are counted. The names of objects, labels, dispatches and the lines of modules are recorded. statistics.c adds an
   extension. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

typedef void (*Any)(void);
typedef struct { uint32_t type; const void *next; uint32_t waits; const uint64_t *wait; const uint32_t *stages; uint32_t count;
                 void *const *commands; uint32_t signals; const uint64_t *signal; } Submit;
typedef struct { uint32_t type; const void *next; uint32_t waits; const uint64_t *wait; uint32_t signals; const uint64_t *signal; } Values;
typedef struct { uint32_t type; const void *next; uint32_t flags, count; const uint64_t *semaphores, *numbers; } WaitInfo;
typedef struct { uint32_t type; const void *next; uint32_t flags, family, count; const float *priorities; } QueueInfo;
typedef struct { uint32_t type; const void *next; uint32_t flags, count; const QueueInfo *queues; uint32_t layer_count;
                 const void *layers; uint32_t extension_count; const void *extensions, *features; } DeviceInfo;
typedef struct { uint32_t flags, count, bits, granularity[3]; } Family;
typedef struct { uint32_t type; const void *next; uint32_t object_type; uint64_t object; const char *name; } NameInfo;
typedef struct { uint32_t type; const void *next; const char *name; float color[4]; } Label;
typedef struct { uint32_t type; const void *next; uint32_t flags; size_t bytes; const uint32_t *words; } ModuleInfo;
typedef struct Chain { uint32_t type; struct Chain *next; uint32_t value; } Chain;

typedef struct { uint32_t type; const void *next; uint32_t flags; uint64_t rest[10]; } PipelineInfo;

enum { WAITS = 16, TIMELINE_VALUES = 1000207003, SUCCESS = 0, TIMEOUT = 2, FULL = -2, LOST = -4, NO_FEATURE = -8, ADDRESS_FEATURES = 1000257000, QUEUES = 8, KEPT = 64, COMMANDS = 8, DRIVER_PROPERTIES = 1000196000 };

static Any (*instance_address)(void *, const char *);
static Any (*device_address)(void *, const char *);
static int (*create_device)(void *, const DeviceInfo *, const void *, void **);
static void (*get_families)(void *, uint32_t *, Family *);
static void (*get_properties)(void *, void *);
static void (*get_queue)(void *, uint32_t, uint32_t, void **);
static int (*submit)(void *, uint32_t, const Submit *, uint64_t);
static int (*wait_fences)(void *, uint32_t, const uint64_t *, uint32_t, uint64_t);
static int (*fence_status)(void *, uint64_t);
static int (*wait_semaphores)(void *, const WaitInfo *, uint64_t);
static int (*semaphore_number)(void *, uint64_t, uint64_t *);
static int (*create_pipelines)(void *, uint64_t, uint32_t, const void *, const void *, uint64_t *);

static int (*set_name)(void *, const NameInfo *);
static void (*begin_label)(void *, const Label *);
static void (*end_label)(void *);
static void (*dispatch)(void *, uint32_t, uint32_t, uint32_t);
static int (*create_module)(void *, const ModuleInfo *, const void *, uint64_t *);

/* statistics.c */
extern uint32_t has_statistics, captured;
extern Any list_extensions, list_features;
extern void extensions_listed(void), features_listed(void), executables(void), numbers(void);
extern void without_statistics(DeviceInfo *, const void **);
extern PipelineInfo without_capture(const PipelineInfo *);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static void *queue;
static char queues[QUEUES];
static struct { int queue; Submit submit; Values values; void *commands[COMMANDS]; uint64_t fence, signal, number;
                uint64_t wait[WAITS], numbers[WAITS]; uint32_t stages[WAITS]; } kept[KEPT];
static int kept_count;
/* The timeline semaphores of the queues, and the number to which the last submission that was passed on sets each. */
static struct { uint64_t semaphore, number; } timelines[QUEUES];

/* Set by the test: the number of queues; the driver's number, or 0 for the real one; a bit for each held queue; whether the compiler hangs;
   the calls that lose the device. */
static uint32_t queue_count = 1, driver, held, compiler_held, lost_in_submit, lost_in_wait;
/* Set by the test: how many submissions pass before a queue is held or full; whether submissions run out of memory; whether functions that
   destroy wait; whether fences and semaphores report that the device is lost. */
static uint32_t passing, full_in_submit, ends_held, lost_in_status;
/* Set once a call has reported that the device is lost. Nothing is passed on from then on, because the runtime may destroy the objects
   that held submissions use. */
static uint32_t is_lost;
/* Whether the device lacks names and labels. */
static uint32_t nameless;
/* Whether devices with buffer device addresses cannot be created, although the feature is listed. */
static uint32_t refuses_addresses;
/* The recorded lines. */
static char written[1 << 16];
/* Read by the test. */
static uint32_t destroyed, ending, submitted, used_queues, compiling;

/* Submits to the real queue, and notes the number of the timeline semaphore that the submission sets. */
static int pass(const Submit *one, uint64_t fence) {
  int result = submit(queue, 1, one, fence);
  for (uint32_t n = 0; n < one->signals && result == SUCCESS; n++)
    for (int t = 0; t < QUEUES; t++)
      if (!timelines[t].semaphore || timelines[t].semaphore == one->signal[n]) {
        timelines[t].semaphore = one->signal[n];
        timelines[t].number = ((const Values *)one->next)->signal[n];
        break;
      }
  return result;
}

/* Whether a submission waits for one that was not passed on. The real queue would never get to that one. */
static int is_behind(const Submit *one) {
  for (uint32_t n = 0; n < one->waits; n++) {
    uint64_t number = 0;
    for (int t = 0; t < QUEUES; t++)
      if (timelines[t].semaphore == one->wait[n]) number = timelines[t].number;
    if (number < ((const Values *)one->next)->wait[n]) return 1;
  }
  return 0;
}

static void keep(int number, const Submit *one, uint64_t fence) {
  __typeof__(*kept) *k = &kept[kept_count++];
  k->queue = number;
  k->submit = *one;
  for (uint32_t n = 0; n < one->count; n++) k->commands[n] = one->commands[n];
  k->fence = fence;
  if (!one->next) return;
  k->values = *(const Values *)one->next;
  for (uint32_t n = 0; n < one->waits; n++) {
    k->wait[n] = one->wait[n];
    k->numbers[n] = k->values.wait[n];
    k->stages[n] = one->stages[n];
  }
  if (!one->signals) return;
  k->signal = one->signal[0];
  k->number = k->values.signal[0];
}

static int lose(void) {
  is_lost = 1;
  return LOST;
}

static void pass_on(void) {
  for (int passed = !is_lost; passed;) {
    int left = 0, blocked = 0;
    passed = 0;
    for (int n = 0; n < kept_count; n++) {
      __typeof__(*kept) *k = &kept[n];
      k->submit.commands = k->commands;
      if (k->submit.next) {
        k->values.wait = k->numbers;
        k->values.signal = &k->number;
        k->submit.next = &k->values;
        k->submit.wait = k->wait;
        k->submit.stages = k->stages;
        k->submit.signal = &k->signal;
      }
      /* A queue keeps its order. */
      if (((held | (uint32_t)blocked) >> k->queue & 1) || is_behind(&k->submit)) {
        blocked |= 1 << k->queue;
        kept[left++] = *k;
        continue;
      }
      pass(&k->submit, k->fence);
      passed = 1;
    }
    kept_count = left;
  }
}

static int keeps(int number) {
  for (int n = 0; n < kept_count; n++)
    if (kept[n].queue == number) return 1;
  return 0;
}

static uint32_t *named(const char *name) {
  if (!strcmp(name, "queues")) return &queue_count;
  if (!strcmp(name, "driver")) return &driver;
  if (!strcmp(name, "held")) return &held;
  if (!strcmp(name, "compiler_held")) return &compiler_held;
  if (!strcmp(name, "lost_in_submit")) return &lost_in_submit;
  if (!strcmp(name, "lost_in_wait")) return &lost_in_wait;
  if (!strcmp(name, "lost_in_status")) return &lost_in_status;
  if (!strcmp(name, "passing")) return &passing;
  if (!strcmp(name, "full_in_submit")) return &full_in_submit;
  if (!strcmp(name, "ends_held")) return &ends_held;
  if (!strcmp(name, "nameless")) return &nameless;
  if (!strcmp(name, "refuses_addresses")) return &refuses_addresses;
  if (!strcmp(name, "has_statistics")) return &has_statistics;
  if (!strcmp(name, "captured")) return &captured;
  if (!strcmp(name, "destroyed")) return &destroyed;
  if (!strcmp(name, "ending")) return &ending;
  if (!strcmp(name, "submitted")) return &submitted;
  if (!strcmp(name, "used_queues")) return &used_queues;
  if (!strcmp(name, "compiling")) return &compiling;
  return 0;
}

/* Sets a value for a test, or returns one. */
void injector_set(const char *name, uint32_t value) {
  pthread_mutex_lock(&lock);
  *named(name) = value;
  pass_on();
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
}

uint32_t injector_get(const char *name) {
  pthread_mutex_lock(&lock);
  uint32_t value = *named(name);
  pthread_mutex_unlock(&lock);
  return value;
}

const char *injector_written(void) { return written; }

static void write_down(const char *what, const char *text) {
  pthread_mutex_lock(&lock);
  size_t end = strlen(written);
  snprintf(written + end, sizeof written - end, "%s%s\n", what, text);
  pthread_mutex_unlock(&lock);
}

static int name_object(void *device, const NameInfo *info) {
  write_down("name ", info->name);
  return set_name(device, info);
}

static void begins_label(void *commands, const Label *label) {
  write_down("begin ", label->name);
  begin_label(commands, label);
}

static void ends_label(void *commands) {
  write_down("end", "");
  end_label(commands);
}

static void dispatches(void *commands, uint32_t x, uint32_t y, uint32_t z) {
  write_down("dispatch", "");
  dispatch(commands, x, y, z);
}

static int module(void *device, const ModuleInfo *info, const void *allocator, uint64_t *out) {
  char text[32];
  uint32_t lines = 0;
  for (size_t at = 5; at < info->bytes / 4 && info->words[at] >> 16; at += info->words[at] >> 16) lines += (info->words[at] & 0xffff) == 8;
  snprintf(text, sizeof text, "%u lines", lines);
  write_down("module of ", text);
  return create_module(device, info, allocator, out);
}

static void families(void *device, uint32_t *count, Family *out) {
  get_families(device, count, out);
  for (uint32_t n = 0; out && n < *count; n++) out[n].count = queue_count;
}

/* VkPhysicalDeviceDriverProperties begins with the driver's number. */
static void properties(void *device, void *out) {
  get_properties(device, out);
  for (Chain *next = out; next; next = next->next)
    if (next->type == DRIVER_PROPERTIES && driver) next->value = driver;
}

static int create(void *physical, const DeviceInfo *info, const void *allocator, void **device) {
  QueueInfo one = info->queues[0];
  DeviceInfo changed_info = *info;
  one.count = 1;
  const void *extensions[64];
  for (const Chain *next = info->next; next; next = next->next)
    if (refuses_addresses && next->type == ADDRESS_FEATURES && next->value) return NO_FEATURE;
  changed_info.queues = &one;
  without_statistics(&changed_info, extensions);
  return create_device(physical, &changed_info, allocator, device);
}

static void take_queue(void *device, uint32_t family, uint32_t index, void **out) {
  get_queue(device, family, 0, &queue);
  *out = &queues[index];
}

static int submits(void *to, uint32_t count, const Submit *all, uint64_t fence) {
  int number = (int)((char *)to - queues), result = SUCCESS;
  pthread_mutex_lock(&lock);
  submitted++;
  used_queues |= 1u << number;
  if (lost_in_submit) {
    result = lose();
  } else if (passing) {
    passing--;
    result = pass(all, fence);
  } else if (full_in_submit) {
    result = FULL;
  } else if ((held >> number & 1 || keeps(number) || is_behind(all)) && count == 1 && all->count <= COMMANDS && kept_count < KEPT) {
    keep(number, all, fence);
  } else {
    result = pass(all, fence);
  }
  pthread_mutex_unlock(&lock);
  return result;
}

/* Whether a submission is kept that signals a fence, or sets a semaphore to a number at most. */
static int is_kept(uint64_t fence, uint64_t semaphore, uint64_t number) {
  for (int n = 0; n < kept_count; n++)
    if (fence ? kept[n].fence == fence : kept[n].signal == semaphore && kept[n].number <= number) return 1;
  return 0;
}

/* Waits until the submission is passed on. */
static int waits_passed(uint64_t fence, uint64_t semaphore, uint64_t number, uint64_t nanos) {
  struct timespec end;
  uint64_t seconds = nanos / 1000000000u;
  int result = SUCCESS;
  clock_gettime(CLOCK_REALTIME, &end);
  end.tv_sec += seconds > 1000000 ? 1000000 : (time_t)seconds;
  end.tv_nsec += (long)(nanos % 1000000000u);
  if (end.tv_nsec >= 1000000000) { end.tv_sec++; end.tv_nsec -= 1000000000; }
  pthread_mutex_lock(&lock);
  while (is_kept(fence, semaphore, number) && result == SUCCESS && !lost_in_wait)
    if (pthread_cond_timedwait(&changed, &lock, &end) == ETIMEDOUT) result = is_kept(fence, semaphore, number) ? TIMEOUT : SUCCESS;
  if (lost_in_wait) result = lose();
  pthread_mutex_unlock(&lock);
  return result;
}

/* A fence is not waited for while it is still to be submitted, because the two uses must not overlap. */
static int waits(void *device, uint32_t count, const uint64_t *fences, uint32_t all, uint64_t nanos) {
  int result = waits_passed(fences[0], 0, 0, nanos);
  return result == SUCCESS ? wait_fences(device, count, fences, all, nanos) : result;
}

static int waits_number(void *device, const WaitInfo *info, uint64_t nanos) {
  int result = waits_passed(0, info->semaphores[0], info->numbers[0], nanos);
  return result == SUCCESS ? wait_semaphores(device, info, nanos) : result;
}

static int number_of(void *device, uint64_t semaphore, uint64_t *number) {
  pthread_mutex_lock(&lock);
  int result = lost_in_status ? lose() : SUCCESS;
  pthread_mutex_unlock(&lock);
  return result == SUCCESS ? semaphore_number(device, semaphore, number) : result;
}

static int status(void *device, uint64_t fence) {
  pthread_mutex_lock(&lock);
  int result = lost_in_status ? lose() : SUCCESS;
  pthread_mutex_unlock(&lock);
  return result == SUCCESS ? fence_status(device, fence) : result;
}

static int compile(void *device, uint64_t cache, uint32_t count, const void *infos, const void *allocator, uint64_t *out) {
  pthread_mutex_lock(&lock);
  compiling++;
  while (compiler_held) pthread_cond_wait(&changed, &lock);
  compiling--;
  pthread_mutex_unlock(&lock);
  PipelineInfo info = without_capture(infos);
  return create_pipelines(device, cache, count, &info, allocator, out);
}

/* Functions that destroy or free. They take a device, or a device and an object, which may be null. Four words are enough for the arguments
   of each. Caches, the objects of the last one, are not counted, because submissions do not use them. */
enum { ENDS = 11 };
static const char *const ends[ENDS] = {
  "vkDestroyDevice", "vkDestroyBuffer", "vkFreeMemory", "vkDestroyPipeline", "vkDestroyPipelineLayout",
  "vkDestroyDescriptorSetLayout", "vkDestroyDescriptorPool", "vkDestroyCommandPool", "vkDestroyFence", "vkDestroyQueryPool",
  "vkDestroyPipelineCache" };
static void (*real_ends[ENDS])(uintptr_t, uintptr_t, uintptr_t, uintptr_t);
#define END(n) static void end##n(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d) { \
  pthread_mutex_lock(&lock); ending++; while (ends_held) pthread_cond_wait(&changed, &lock); ending--; \
  destroyed += n == 0 || (b && n != 10); pthread_mutex_unlock(&lock); real_ends[n](a, b, c, d); }
END(0) END(1) END(2) END(3) END(4) END(5) END(6) END(7) END(8) END(9) END(10)
static void (*const own_ends[ENDS])(uintptr_t, uintptr_t, uintptr_t, uintptr_t) =
  { end0, end1, end2, end3, end4, end5, end6, end7, end8, end9, end10 };

static Any of_device(void *device, const char *name) {
  if (has_statistics && !strcmp(name, "vkGetPipelineExecutablePropertiesKHR")) return executables;
  if (has_statistics && !strcmp(name, "vkGetPipelineExecutableStatisticsKHR")) return numbers;
  Any real = device_address(device, name);
  if (!real || (nameless && strstr(name, "DebugUtils"))) return 0;
  for (int n = 0; n < ENDS; n++)
    if (!strcmp(name, ends[n])) { real_ends[n] = (void *)real; return (Any)own_ends[n]; }
  if (!strcmp(name, "vkGetDeviceQueue")) { get_queue = (void *)real; return (Any)take_queue; }
  if (!strcmp(name, "vkQueueSubmit")) { submit = (void *)real; return (Any)submits; }
  if (!strcmp(name, "vkGetFenceStatus")) { fence_status = (void *)real; return (Any)status; }
  if (!strcmp(name, "vkWaitForFences")) { wait_fences = (void *)real; return (Any)waits; }
  if (!strcmp(name, "vkWaitSemaphores")) { wait_semaphores = (void *)real; return (Any)waits_number; }
  if (!strcmp(name, "vkGetSemaphoreCounterValue")) { semaphore_number = (void *)real; return (Any)number_of; }
  if (!strcmp(name, "vkSetDebugUtilsObjectNameEXT")) { set_name = (void *)real; return (Any)name_object; }
  if (!strcmp(name, "vkCmdBeginDebugUtilsLabelEXT")) { begin_label = (void *)real; return (Any)begins_label; }
  if (!strcmp(name, "vkCmdEndDebugUtilsLabelEXT")) { end_label = (void *)real; return (Any)ends_label; }
  if (!strcmp(name, "vkCmdDispatch")) { dispatch = (void *)real; return (Any)dispatches; }
  if (!strcmp(name, "vkCreateShaderModule")) { create_module = (void *)real; return (Any)module; }
  if (!strcmp(name, "vkCreateComputePipelines")) { create_pipelines = (void *)real; return (Any)compile; }
  return real;
}

Any vkGetInstanceProcAddr(void *instance, const char *name) {
  if (!instance_address) {
    void *library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library) instance_address = (void *)dlsym(library, "vkGetInstanceProcAddr");
    if (!instance_address) return 0;
  }
  Any real = instance_address(instance, name);
  if (!real) return real;
  if (!strcmp(name, "vkGetDeviceProcAddr")) { device_address = (void *)real; return (Any)of_device; }
  if (!strcmp(name, "vkCreateDevice")) { create_device = (void *)real; return (Any)create; }
  if (!strcmp(name, "vkGetPhysicalDeviceProperties2")) { get_properties = (void *)real; return (Any)properties; }
  if (!strcmp(name, "vkGetPhysicalDeviceFeatures2")) { list_features = real; return features_listed; }
  if (!strcmp(name, "vkEnumerateDeviceExtensionProperties")) { list_extensions = real; return extensions_listed; }
  if (!strcmp(name, "vkGetPhysicalDeviceQueueFamilyProperties")) { get_families = (void *)real; return (Any)families; }
  return real;
}
