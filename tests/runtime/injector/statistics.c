/* VK_KHR_pipeline_executable_properties on a driver without it. If the test requests it, the device lists the extension and the feature.
   The driver sees neither, and each pipeline has the same two numbers. */

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct { char name[256]; uint32_t version; } Extension;
typedef struct Chain { uint32_t type; struct Chain *next; uint32_t value; } Chain;
typedef struct { uint32_t type; const void *next; uint32_t flags, count; const void *queues; uint32_t layer_count;
                 const void *layers; uint32_t extension_count; const char *const *extensions; const void *features; } DeviceInfo;
typedef struct { uint32_t type; const void *next; uint32_t flags; uint64_t rest[10]; } PipelineInfo;
typedef struct { uint32_t type; void *next; uint32_t stages; char name[256], about[256]; uint32_t subgroup; } Executable;
typedef struct { uint32_t type; void *next; char name[256], about[256]; uint32_t format; union { uint64_t u; double f; } value; } Number;

enum { SUCCESS = 0, INCOMPLETE = 5, FEATURES = 1000269000, CAPTURE = 0x40, MOST = 64, U64 = 2, F64 = 3 };

static const char *const NAME = "VK_KHR_pipeline_executable_properties";

uint32_t has_statistics, captured;
int (*list_extensions)(void *, const char *, uint32_t *, Extension *);
void (*list_features)(void *, void *);

int extensions_listed(void *device, const char *layer, uint32_t *count, Extension *out) {
  uint32_t room = *count;
  int result = list_extensions(device, layer, count, out);
  if (!has_statistics || layer) return result;
  if (!out) { (*count)++; return result; }
  if (*count >= room) return INCOMPLETE;
  memset(&out[*count], 0, sizeof *out);
  strcpy(out[*count].name, NAME);
  out[(*count)++].version = 1;
  return result;
}

void features_listed(void *device, void *out) {
  list_features(device, out);
  for (Chain *next = out; next; next = next->next)
    if (next->type == FEATURES && has_statistics) next->value = 1;
}

/* Returns what the driver may see of a device's extensions and features. Extensions that are too many are left out. */
void without_statistics(DeviceInfo *info, const char **extensions) {
  uint32_t count = 0;
  for (uint32_t n = 0; n < info->extension_count && count < MOST; n++)
    if (strcmp(info->extensions[n], NAME)) extensions[count++] = info->extensions[n];
  info->extensions = extensions;
  info->extension_count = count;
  for (Chain *before = (Chain *)info; before->next; before = before->next)
    if (before->next->type == FEATURES) { before->next = before->next->next; break; }
}

PipelineInfo without_capture(const PipelineInfo *info) {
  PipelineInfo changed = *info;
  captured += (changed.flags & CAPTURE) != 0;
  changed.flags &= ~(uint32_t)CAPTURE;
  return changed;
}

int executables(void *device, const void *info, uint32_t *count, Executable *out) {
  if (out && *count) {
    out->stages = 0x20;
    out->subgroup = 8;
    strcpy(out->name, "main");
    strcpy(out->about, "the dispatch");
  }
  *count = 1;
  return SUCCESS;
}

int numbers(void *device, const void *info, uint32_t *count, Number *out) {
  if (out && *count == 2) {
    strcpy(out[0].name, "Register Count");
    strcpy(out[0].about, "registers of an invocation");
    out[0].format = U64;
    out[0].value.u = 168;
    memset(out[1].name, 'x', sizeof out[1].name);
    out[1].format = F64;
    out[1].value.f = 0.5;
  }
  *count = 2;
  return SUCCESS;
}
