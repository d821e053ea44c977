/* The error numbers of Linux for those of WASI, and their texts. The interpreter is
 * compiled with include/errno.h, wasi-libc and SQLite are not. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <wasi/api.h>

extern _Thread_local int wasi_errno __asm__("errno");

#define OF(name) [__WASI_ERRNO_##name] = E##name
static const unsigned char numbers[] = {
    OF(2BIG), OF(ACCES), OF(ADDRINUSE), OF(ADDRNOTAVAIL), OF(AFNOSUPPORT), OF(AGAIN), OF(ALREADY),
    OF(BADF), OF(BADMSG), OF(BUSY), OF(CANCELED), OF(CHILD), OF(CONNABORTED), OF(CONNREFUSED),
    OF(CONNRESET), OF(DEADLK), OF(DESTADDRREQ), OF(DOM), OF(DQUOT), OF(EXIST), OF(FAULT), OF(FBIG),
    OF(HOSTUNREACH), OF(IDRM), OF(ILSEQ), OF(INPROGRESS), OF(INTR), OF(INVAL), OF(IO), OF(ISCONN),
    OF(ISDIR), OF(LOOP), OF(MFILE), OF(MLINK), OF(MSGSIZE), OF(MULTIHOP), OF(NAMETOOLONG),
    OF(NETDOWN), OF(NETRESET), OF(NETUNREACH), OF(NFILE), OF(NOBUFS), OF(NODEV), OF(NOENT),
    OF(NOEXEC), OF(NOLCK), OF(NOLINK), OF(NOMEM), OF(NOMSG), OF(NOPROTOOPT), OF(NOSPC), OF(NOSYS),
    OF(NOTCONN), OF(NOTDIR), OF(NOTEMPTY), OF(NOTRECOVERABLE), OF(NOTSOCK), OF(NOTSUP), OF(NOTTY),
    OF(NXIO), OF(OVERFLOW), OF(OWNERDEAD), OF(PERM), OF(PIPE), OF(PROTO), OF(PROTONOSUPPORT),
    OF(PROTOTYPE), OF(RANGE), OF(ROFS), OF(SPIPE), OF(SRCH), OF(STALE), OF(TIMEDOUT), OF(TXTBSY),
    OF(XDEV),
    [__WASI_ERRNO_NOTCAPABLE] = EACCES,
};

static const char *const texts[] = {
    [0] = "Success",
    [EPERM] = "Operation not permitted",
    [ENOENT] = "No such file or directory",
    [ESRCH] = "No such process",
    [EINTR] = "Interrupted system call",
    [EIO] = "Input/output error",
    [ENXIO] = "No such device or address",
    [E2BIG] = "Argument list too long",
    [ENOEXEC] = "Exec format error",
    [EBADF] = "Bad file descriptor",
    [ECHILD] = "No child processes",
    [EAGAIN] = "Resource temporarily unavailable",
    [ENOMEM] = "Cannot allocate memory",
    [EACCES] = "Permission denied",
    [EFAULT] = "Bad address",
    [ENOTBLK] = "Block device required",
    [EBUSY] = "Device or resource busy",
    [EEXIST] = "File exists",
    [EXDEV] = "Invalid cross-device link",
    [ENODEV] = "No such device",
    [ENOTDIR] = "Not a directory",
    [EISDIR] = "Is a directory",
    [EINVAL] = "Invalid argument",
    [ENFILE] = "Too many open files in system",
    [EMFILE] = "Too many open files",
    [ENOTTY] = "Inappropriate ioctl for device",
    [ETXTBSY] = "Text file busy",
    [EFBIG] = "File too large",
    [ENOSPC] = "No space left on device",
    [ESPIPE] = "Illegal seek",
    [EROFS] = "Read-only file system",
    [EMLINK] = "Too many links",
    [EPIPE] = "Broken pipe",
    [EDOM] = "Numerical argument out of domain",
    [ERANGE] = "Numerical result out of range",
    [EDEADLK] = "Resource deadlock avoided",
    [ENAMETOOLONG] = "File name too long",
    [ENOLCK] = "No locks available",
    [ENOSYS] = "Function not implemented",
    [ENOTEMPTY] = "Directory not empty",
    [ELOOP] = "Too many levels of symbolic links",
    [ENOMSG] = "No message of desired type",
    [EIDRM] = "Identifier removed",
    [ECHRNG] = "Channel number out of range",
    [EL2NSYNC] = "Level 2 not synchronized",
    [EL3HLT] = "Level 3 halted",
    [EL3RST] = "Level 3 reset",
    [ELNRNG] = "Link number out of range",
    [EUNATCH] = "Protocol driver not attached",
    [ENOCSI] = "No CSI structure available",
    [EL2HLT] = "Level 2 halted",
    [EBADE] = "Invalid exchange",
    [EBADR] = "Invalid request descriptor",
    [EXFULL] = "Exchange full",
    [ENOANO] = "No anode",
    [EBADRQC] = "Invalid request code",
    [EBADSLT] = "Invalid slot",
    [EBFONT] = "Bad font file format",
    [ENOSTR] = "Device not a stream",
    [ENODATA] = "No data available",
    [ETIME] = "Timer expired",
    [ENOSR] = "Out of streams resources",
    [ENONET] = "Machine is not on the network",
    [ENOPKG] = "Package not installed",
    [EREMOTE] = "Object is remote",
    [ENOLINK] = "Link has been severed",
    [EADV] = "Advertise error",
    [ESRMNT] = "Srmount error",
    [ECOMM] = "Communication error on send",
    [EPROTO] = "Protocol error",
    [EMULTIHOP] = "Multihop attempted",
    [EDOTDOT] = "RFS specific error",
    [EBADMSG] = "Bad message",
    [EOVERFLOW] = "Value too large for defined data type",
    [ENOTUNIQ] = "Name not unique on network",
    [EBADFD] = "File descriptor in bad state",
    [EREMCHG] = "Remote address changed",
    [ELIBACC] = "Can not access a needed shared library",
    [ELIBBAD] = "Accessing a corrupted shared library",
    [ELIBSCN] = ".lib section in a.out corrupted",
    [ELIBMAX] = "Attempting to link in too many shared libraries",
    [ELIBEXEC] = "Cannot exec a shared library directly",
    [EILSEQ] = "Invalid or incomplete multibyte or wide character",
    [ERESTART] = "Interrupted system call should be restarted",
    [ESTRPIPE] = "Streams pipe error",
    [EUSERS] = "Too many users",
    [ENOTSOCK] = "Socket operation on non-socket",
    [EDESTADDRREQ] = "Destination address required",
    [EMSGSIZE] = "Message too long",
    [EPROTOTYPE] = "Protocol wrong type for socket",
    [ENOPROTOOPT] = "Protocol not available",
    [EPROTONOSUPPORT] = "Protocol not supported",
    [ESOCKTNOSUPPORT] = "Socket type not supported",
    [EOPNOTSUPP] = "Operation not supported",
    [EPFNOSUPPORT] = "Protocol family not supported",
    [EAFNOSUPPORT] = "Address family not supported by protocol",
    [EADDRINUSE] = "Address already in use",
    [EADDRNOTAVAIL] = "Cannot assign requested address",
    [ENETDOWN] = "Network is down",
    [ENETUNREACH] = "Network is unreachable",
    [ENETRESET] = "Network dropped connection on reset",
    [ECONNABORTED] = "Software caused connection abort",
    [ECONNRESET] = "Connection reset by peer",
    [ENOBUFS] = "No buffer space available",
    [EISCONN] = "Transport endpoint is already connected",
    [ENOTCONN] = "Transport endpoint is not connected",
    [ESHUTDOWN] = "Cannot send after transport endpoint shutdown",
    [ETOOMANYREFS] = "Too many references: cannot splice",
    [ETIMEDOUT] = "Connection timed out",
    [ECONNREFUSED] = "Connection refused",
    [EHOSTDOWN] = "Host is down",
    [EHOSTUNREACH] = "No route to host",
    [EALREADY] = "Operation already in progress",
    [EINPROGRESS] = "Operation now in progress",
    [ESTALE] = "Stale file handle",
    [EUCLEAN] = "Structure needs cleaning",
    [ENOTNAM] = "Not a XENIX named type file",
    [ENAVAIL] = "No XENIX semaphores available",
    [EISNAM] = "Is a named type file",
    [EREMOTEIO] = "Remote I/O error",
    [EDQUOT] = "Disk quota exceeded",
    [ENOMEDIUM] = "No medium found",
    [EMEDIUMTYPE] = "Wrong medium type",
    [ECANCELED] = "Operation canceled",
    [ENOKEY] = "Required key not available",
    [EKEYEXPIRED] = "Key has expired",
    [EKEYREVOKED] = "Key has been revoked",
    [EKEYREJECTED] = "Key was rejected by service",
    [EOWNERDEAD] = "Owner died",
    [ENOTRECOVERABLE] = "State not recoverable",
    [ERFKILL] = "Operation not possible due to RF-kill",
    [EHWPOISON] = "Memory page has hardware error",
};

static int linux_number(int wasi)
{
    return (unsigned)wasi < sizeof numbers ? numbers[wasi] : EIO;
}

/* The place of errno. wasi-libc never stores 0, so anything else was stored since
 * the last call and is the newer value. */
int *linux_errno(void)
{
    static int value;
    if (wasi_errno) {
        value = linux_number(wasi_errno);
        wasi_errno = 0;
    }
    return &value;
}

/* The one function that returns an error number. */
int posix_fadvise(int fd, off_t offset, off_t size, int advice)
{
    return linux_number(__wasi_fd_advise(fd, offset, size, advice));
}

char *strerror(int number)
{
    static char unknown[32];
    if (number >= 0 && number < (int)(sizeof texts / sizeof *texts) && texts[number])
        return (char *)texts[number];
    snprintf(unknown, sizeof unknown, "Unknown error %d", number);
    return unknown;
}
