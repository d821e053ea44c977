/* Timers, in the order in which they are due. */
#pragma once
#include <time.h>
#include "guest.h"

static int64_t monotonic_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int insert_timer(JSContext *ctx, Timer timer) {
    if (grow_array(ctx, (void **)&guest.timers, &guest.timer_capacity, guest.timer_count, sizeof(Timer)))
        return -1;
    uint32_t i = guest.timer_count++;
    for (; i > 0 && guest.timers[i - 1].due > timer.due; i--)
        guest.timers[i] = guest.timers[i - 1];
    guest.timers[i] = timer;
    return 0;
}

static Timer remove_timer(uint32_t i) {
    Timer timer = guest.timers[i];
    memmove(&guest.timers[i], &guest.timers[i + 1], (--guest.timer_count - i) * sizeof(Timer));
    return timer;
}

static void free_timer(JSContext *ctx, Timer timer) {
    JS_FreeValue(ctx, timer.function);
    JS_FreeValue(ctx, timer.arguments);
}

/* $.startTimer(function, ms, repeats, keepsAlive, arguments): its number */
static JSValue native_start_timer(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv) {
    double ms;
    if (JS_ToFloat64(ctx, &ms, argv[1]))
        return JS_EXCEPTION;
    if (!(ms > 0))
        ms = 0;
    if (ms > 2147483647.0)
        ms = 1; /* as Node does */
    int64_t delay = (int64_t)(ms * 1e6);
    Timer timer = {
        .id = ++guest.last_timer,
        .due = monotonic_ns() + delay,
        .interval = JS_ToBool(ctx, argv[2]) ? delay : -1,
        .keeps_alive = JS_ToBool(ctx, argv[3]),
        .function = JS_DupValue(ctx, argv[0]),
        .arguments = JS_DupValue(ctx, argv[4]),
    };
    if (insert_timer(ctx, timer)) {
        free_timer(ctx, timer);
        return JS_EXCEPTION;
    }
    return JS_NewUint32(ctx, timer.id);
}

/* $.stopTimer(number) */
static JSValue native_stop_timer(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv) {
    uint32_t id;
    if (JS_ToUint32(ctx, &id, argv[0]))
        return JS_EXCEPTION;
    for (uint32_t i = 0; i < guest.timer_count; i++) {
        if (guest.timers[i].id == id) {
            free_timer(ctx, remove_timer(i));
            break;
        }
    }
    return JS_UNDEFINED;
}

/* $.holdTimer(number, keepsAlive) */
static JSValue native_hold_timer(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv) {
    uint32_t id;
    if (JS_ToUint32(ctx, &id, argv[0]))
        return JS_EXCEPTION;
    for (uint32_t i = 0; i < guest.timer_count; i++)
        if (guest.timers[i].id == id)
            guest.timers[i].keeps_alive = JS_ToBool(ctx, argv[1]);
    return JS_UNDEFINED;
}

/* $.markTimers(prototype): objects with it are what setTimeout gives */
static JSValue native_mark_timers(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv) {
    set_value(ctx, &guest.timer_prototype, JS_DupValue(ctx, argv[0]));
    return JS_UNDEFINED;
}

/* A program that ends in setTimeout(…) has no value. */
static BOOL is_timer(JSValueConst value) {
    return JS_VALUE_GET_TAG(value) == JS_TAG_OBJECT && JS_VALUE_GET_TAG(guest.timer_prototype) == JS_TAG_OBJECT &&
           JS_VALUE_GET_OBJ(value)->shape->proto == JS_VALUE_GET_OBJ(guest.timer_prototype);
}

static BOOL timers_keep_alive(void) {
    for (uint32_t i = 0; i < guest.timer_count; i++)
        if (guest.timers[i].keeps_alive)
            return TRUE;
    return FALSE;
}

/* Runs the first timer if it is due; 1: it ran, -1: it threw. */
static int run_due_timer(JSContext *ctx) {
    if (guest.timer_count == 0 || guest.timers[0].due > monotonic_ns())
        return 0;
    Timer timer = remove_timer(0);
    JSValue function = JS_DupValue(ctx, timer.function);
    JSValue arguments = JS_DupValue(ctx, timer.arguments);
    if (timer.interval >= 0) {
        timer.due = monotonic_ns() + (timer.interval > 1000000 ? timer.interval : 1000000);
        if (insert_timer(ctx, timer))
            free_timer(ctx, timer);
    } else {
        free_timer(ctx, timer);
    }
    uint32_t count = 0;
    JSValue *items = build_arg_list(ctx, &count, arguments);
    JSValue result = items ? JS_Call(ctx, function, JS_UNDEFINED, count, (JSValueConst *)items)
                           : JS_EXCEPTION;
    free_arg_list(ctx, items, count);
    JS_FreeValue(ctx, function);
    JS_FreeValue(ctx, arguments);
    if (JS_IsException(result))
        return -1;
    JS_FreeValue(ctx, result);
    return 1;
}

static void free_timers(JSContext *ctx) {
    while (guest.timer_count > 0)
        free_timer(ctx, remove_timer(guest.timer_count - 1));
}
