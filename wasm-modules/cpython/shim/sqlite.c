/* The locks of SQLite. It keeps account of the locks of its connections and
 * asks the system for those of other processes, of which there are none here. */
#include <fcntl.h>
#include <stdarg.h>

/* The numbers that SQLite gives the requests that WASI does not have. */
enum { GET_LOCK = 12, SET_LOCK = 13, UNLOCKED = 2 };

/* sqlite_fcntl takes the place of fcntl in SQLite. */
int sqlite_fcntl(int fd, int request, ...)
{
    va_list more;
    va_start(more, request);
    void *given = va_arg(more, void *);
    va_end(more);
    switch (request) {
    case GET_LOCK:
        ((struct flock *)given)->l_type = UNLOCKED;
        return 0;
    case SET_LOCK:
        return 0;
    }
    return fcntl(fd, request, (int)given);
}
