/* QuickJS as a guest of wexec; wasm-modules/ABI.md is the contract.

   One compilation unit with the interpreter, because re-seeding, shapes and the
   program's own form of a function need what quickjs.c keeps to itself. */
#define CONFIG_VERSION QUICKJS_VERSION
#include <malloc.h>
#include "quickjs.c"
#undef malloc
#undef free
#undef realloc
#include <dirent.h>
#include <stdio.h>
#include "host.h"
#include "guest.h"
#include "json_parse.h"
#include "json_write.h"
#include "json_table.h"
#include "json_dropin.h"
#include "output.h"
#include "natives.h"
#include "files.h"
#include "modules.h"
#include "program.h"
#include "references.h"
#include "run.h"
#include "prelude.h"
#include "settle.h"

GUEST_EXPORT("guest_init") int32_t guest_init(void) {
    guest.rt = JS_NewRuntime();
    if (!guest.rt)
        return 1;
    JS_SetMaxStackSize(guest.rt, STACK_SIZE);
    JS_SetInterruptHandler(guest.rt, stop_after_exit, NULL);
    JS_SetHostPromiseRejectionTracker(guest.rt, track_rejection, NULL);
    guest.ctx = JS_NewContext(guest.rt);
    if (!guest.ctx)
        return 2;
    JS_SetModuleLoaderFunc(guest.rt, module_normalise, module_load, NULL);
    guest.main_promise = guest.program = guest.timer_prototype = JS_UNDEFINED;
    for (int i = 0; i < HOOK_COUNT; i++)
        guest.hooks[i] = JS_UNDEFINED;
    guest.note_last = JS_NewCFunction(guest.ctx, native_note_last, "", 1);
    install_json(guest.ctx);
    if (install_input(guest.ctx))
        return 5;
    int r = load_prelude(guest.ctx, "/prelude") ? 3 : settle(guest.ctx) ? 4 : 0;
    output_flush_all();
    return r;
}

GUEST_EXPORT("guest_run") int32_t guest_run(void) {
    JSContext *ctx = guest.ctx;
    JS_UpdateStackTop(guest.rt);
    forget_seed(ctx);
    run_document(ctx, read_input(ctx));
    return 0;
}

GUEST_EXPORT("guest_keep") int32_t guest_keep(void) {
    JS_UpdateStackTop(guest.rt);
    JS_RunGC(guest.rt);
    return make_image() ? 1 : 0;
}
