/* The host's half of the guest ABI (wasm-modules/ABI.md). */
#pragma once
#include <stdint.h>

#define HOST_IMPORT(name) __attribute__((import_module("wexec"), import_name(name)))
#define GUEST_EXPORT(name) __attribute__((export_name(name), visibility("default"), used))

HOST_IMPORT("input_size") int32_t host_input_size(void);
HOST_IMPORT("input_read") int32_t host_input_read(void *to, int32_t size);
HOST_IMPORT("call_start") int64_t host_call_start(const void *name, int32_t name_size,
                                                  const void *args, int32_t args_size);
HOST_IMPORT("call_wait") int64_t host_call_wait(int64_t id, int64_t timeout_ns);
HOST_IMPORT("answer_size") int64_t host_answer_size(int64_t id);
HOST_IMPORT("answer_read") int32_t host_answer_read(int64_t id, void *to, int32_t size);
HOST_IMPORT("call_cancel") void host_call_cancel(int64_t id);
HOST_IMPORT("finish") void host_finish(int32_t kind, const void *data, int32_t size);

enum { ANSWER_JSON, ANSWER_ERROR, ANSWER_TEXT, ANSWER_CONTENT, ANSWER_BYTES };
enum { OUTCOME_VALUE, OUTCOME_ERROR, OUTCOME_NOTHING };
