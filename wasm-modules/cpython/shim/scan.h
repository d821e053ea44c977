/* Scanning and copying, sixteen bytes at a time where that pays. */
#pragma once
#include <stdint.h>
#include <string.h>
#include <wasm_simd128.h>

#define SIMD __attribute__((target("simd128")))
#define INLINE static inline __attribute__((always_inline))
#define COLD __attribute__((noinline))

INLINE uint64_t load8(const void *p) { uint64_t v; memcpy(&v, p, 8); return v; }
INLINE uint32_t load4(const void *p) { uint32_t v; memcpy(&v, p, 4); return v; }
INLINE void store8(void *p, uint64_t v) { memcpy(p, &v, 8); }
INLINE void store4(void *p, uint32_t v) { memcpy(p, &v, 4); }

/* The lanes in which a string has to stop: quote, backslash, control character. */
INLINE SIMD v128_t string_stops(v128_t v)
{
    v128_t quote = wasm_i8x16_eq(v, wasm_i8x16_const_splat('"'));
    v128_t slash = wasm_i8x16_eq(v, wasm_i8x16_const_splat('\\'));
    v128_t control = wasm_u8x16_lt(v, wasm_i8x16_const_splat(0x20));
    return wasm_v128_or(wasm_v128_or(quote, slash), control);
}

/* The first byte that ends a plain run of a string; *wide becomes non-zero when
 * a byte above 0x7f was crossed. Sixteen bytes behind the stop must be readable. */
INLINE SIMD const uint8_t *scan_string(const uint8_t *p, uint32_t *wide)
{
    for (;;) {
        v128_t v = wasm_v128_load(p);
        uint32_t stops = wasm_i8x16_bitmask(string_stops(v));
        uint32_t high = wasm_i8x16_bitmask(v);
        if (stops) {
            int k = __builtin_ctz(stops);
            *wide |= high & ((1u << k) - 1);
            return p + k;
        }
        *wide |= high;
        p += 16;
    }
}

/* Copies exactly n bytes; short runs without a call. */
INLINE void copy_bytes(uint8_t *to, const uint8_t *from, uint32_t n)
{
    if (n > 256) {
        memcpy(to, from, n);
    } else if (n >= 8) {
        for (uint32_t i = 0; i + 8 <= n; i += 8)
            store8(to + i, load8(from + i));
        store8(to + n - 8, load8(from + n - 8));
    } else if (n >= 4) {
        uint32_t head = load4(from), tail = load4(from + n - 4);
        store4(to, head);
        store4(to + n - 4, tail);
    } else if (n) {
        to[0] = from[0];
        if (n > 1) {
            to[1] = from[1];
            to[n - 1] = from[n - 1];
        }
    }
}

INLINE int same_bytes(const uint8_t *a, const uint8_t *b, uint32_t n)
{
    if (n >= 8) {
        for (uint32_t i = 0; i + 8 <= n; i += 8)
            if (load8(a + i) != load8(b + i))
                return 0;
        return load8(a + n - 8) == load8(b + n - 8);
    }
    if (n >= 4)
        return load4(a) == load4(b) && load4(a + n - 4) == load4(b + n - 4);
    for (uint32_t i = 0; i < n; i++)
        if (a[i] != b[i])
            return 0;
    return 1;
}

/* Four hexadecimal digits, or -1. */
INLINE int scan_hex4(const uint8_t *p)
{
    int v = 0;
    for (int i = 0; i < 4; i++) {
        int c = p[i];
        if (c >= '0' && c <= '9')
            v = v * 16 + c - '0';
        else if ((c | 32) >= 'a' && (c | 32) <= 'f')
            v = v * 16 + (c | 32) - 'a' + 10;
        else
            return -1;
    }
    return v;
}

enum number_kind { NUMBER_BAD, NUMBER_INT, NUMBER_DOUBLE, NUMBER_LONG_INT, NUMBER_LONG_FLOAT };
struct number {
    enum number_kind kind;
    int64_t integer;
    double real;
};

INLINE int is_digit(uint8_t c) { return (uint8_t)(c - '0') < 10; }

/* One number token of zero-terminated text; returns where it ends. The LONG
 * kinds are left to the interpreter's own conversions. */
INLINE const uint8_t *scan_number(const uint8_t *p, struct number *out)
{
    static const double power[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    int negative = *p == '-', exponent = 0;
    uint64_t mantissa = 0;
    out->kind = NUMBER_BAD;
    p += negative;
    const uint8_t *digits = p;
    if (*p == '0') {
        p++;
        if (is_digit(*p))
            return p;
    } else {
        for (; is_digit(*p); p++)
            mantissa = mantissa * 10 + (*p - '0');
        if (p == digits)
            return p;
    }
    int count = (int)(p - digits);
    if (*p != '.' && (*p | 32) != 'e') {
        if (count > 18) {
            out->kind = NUMBER_LONG_INT;
        } else {
            out->kind = NUMBER_INT;
            out->integer = negative ? -(int64_t)mantissa : (int64_t)mantissa;
        }
        return p;
    }
    if (*p == '.') {
        const uint8_t *fraction = ++p;
        for (; is_digit(*p); p++)
            mantissa = mantissa * 10 + (*p - '0');
        if (p == fraction)
            return p;
        count += (int)(p - fraction);
        exponent = -(int)(p - fraction);
    }
    if ((*p | 32) == 'e') {
        int down = p[1] == '-', e = 0;
        p += 1 + (p[1] == '+' || down);
        const uint8_t *start = p;
        for (; is_digit(*p); p++)
            if (e < 100000)
                e = e * 10 + (*p - '0');
        if (p == start)
            return p;
        exponent += down ? -e : e;
    }
    if (count > 18 || mantissa > 1ull << 53 || exponent < -22 || exponent > 22) {
        out->kind = NUMBER_LONG_FLOAT;
        return p;
    }
    double d = (double)mantissa;
    d = exponent < 0 ? d / power[-exponent] : d * power[exponent];
    out->kind = NUMBER_DOUBLE;
    out->real = negative ? -d : d;
    return p;
}
