/* Standard output and error: buffered, and written at every end of a line and
   before every wait. */
#pragma once
#include <unistd.h>

typedef struct {
    int fd;
    size_t size;
    uint8_t data[4096];
} Output;

static Output standard_output = {1}, standard_error = {2};

static void output_write_through(int fd, const uint8_t *data, size_t size) {
    while (size > 0) {
        ssize_t n = write(fd, data, size);
        if (n <= 0)
            return; /* there is no way to report it */
        data += n;
        size -= n;
    }
}

static void output_flush(Output *o) {
    size_t size = o->size;
    if (size == 0)
        return; /* so that no untouched page is written to */
    o->size = 0;
    output_write_through(o->fd, o->data, size);
}

static void output_flush_all(void) {
    output_flush(&standard_output);
    output_flush(&standard_error);
}

static void output_put(Output *o, const void *data, size_t size) {
    if (size > sizeof(o->data) - o->size) {
        output_flush(o);
        if (size >= sizeof(o->data)) {
            output_write_through(o->fd, data, size);
            return;
        }
    }
    memcpy(o->data + o->size, data, size);
    o->size += size;
    if (memchr(data, '\n', size))
        output_flush(o);
}
