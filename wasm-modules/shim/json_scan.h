/* Scanning JSON text, for the parsers and writers of every guest: ends of
   strings, numbers, short copies and comparisons.

   Every function reads up to 16 bytes past what it is asked about, so a buffer
   needs JSON_SLACK readable bytes behind its end, the first of them zero. */
#pragma once
#include <stdint.h>
#include <string.h>
#include <wasm_simd128.h>

#define JSON_SLACK 32
#define JSON_SIMD __attribute__((target("simd128")))
#define JSON_INLINE static inline __attribute__((always_inline))
#define JSON_COLD __attribute__((noinline))

JSON_INLINE uint64_t load8(const void *p) { uint64_t v; memcpy(&v, p, 8); return v; }
JSON_INLINE uint32_t load4(const void *p) { uint32_t v; memcpy(&v, p, 4); return v; }
JSON_INLINE void store8(void *p, uint64_t v) { memcpy(p, &v, 8); }
JSON_INLINE void store4(void *p, uint32_t v) { memcpy(p, &v, 4); }

/* The lanes that end a plain run of a string: a quote, a backslash or a control
   character. */
JSON_INLINE JSON_SIMD v128_t plain_ends(v128_t bytes) {
    return wasm_v128_or(wasm_v128_or(wasm_i8x16_eq(bytes, wasm_i8x16_const_splat('"')),
                                     wasm_i8x16_eq(bytes, wasm_i8x16_const_splat('\\'))),
                        wasm_u8x16_lt(bytes, wasm_u8x16_const_splat(0x20)));
}

/* The first byte at or after p that ends a plain run. *wide becomes nonzero if
   the run has a byte that is not ASCII. */
JSON_INLINE JSON_SIMD const uint8_t *scan_plain(const uint8_t *p, uint32_t *wide) {
    for (;;) {
        v128_t bytes = wasm_v128_load(p);
        uint32_t end_bits = wasm_i8x16_bitmask(plain_ends(bytes));
        uint32_t wide_bits = wasm_i8x16_bitmask(bytes);
        if (end_bits) {
            int k = __builtin_ctz(end_bits);
            *wide |= wide_bits & ((1u << k) - 1);
            return p + k;
        }
        *wide |= wide_bits;
        p += 16;
    }
}

JSON_INLINE const uint8_t *skip_space(const uint8_t *p) {
    while (*p <= ' ' && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
        p++;
    return p;
}

/* memcpy of exactly n bytes; a call costs more than the copy for most strings */
JSON_INLINE void copy_short(uint8_t *to, const uint8_t *from, uint32_t n) {
    if (n > 256) {
        memcpy(to, from, n);
    } else if (n >= 8) {
        for (uint32_t i = 0; i + 8 <= n; i += 8)
            store8(to + i, load8(from + i));
        store8(to + n - 8, load8(from + n - 8));
    } else if (n >= 4) {
        uint32_t first = load4(from), last = load4(from + n - 4);
        store4(to, first);
        store4(to + n - 4, last);
    } else {
        for (uint32_t i = 0; i < n; i++)
            to[i] = from[i];
    }
}

JSON_INLINE int equal_short(const uint8_t *a, const uint8_t *b, uint32_t n) {
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

/* four hexadecimal digits, -1 if they are not */
JSON_INLINE int scan_hex4(const uint8_t *p) {
    int value = 0;
    for (int i = 0; i < 4; i++) {
        int c = p[i];
        int letter = (c | 0x20) - 'a';
        if (c >= '0' && c <= '9')
            value = value * 16 + (c - '0');
        else if (letter >= 0 && letter < 6)
            value = value * 16 + letter + 10;
        else
            return -1;
    }
    return value;
}

typedef enum {
    NUMBER_BAD,
    NUMBER_INTEGER,       /* in .integer */
    NUMBER_NEGATIVE_ZERO, /* -0, without a fraction */
    NUMBER_DOUBLE,        /* in .real, exact */
    NUMBER_LONG_INTEGER,  /* valid, but needs the interpreter's own conversion */
    NUMBER_LONG_DOUBLE,   /* the same with a fraction or an exponent */
} NumberKind;

typedef struct {
    NumberKind kind;
    int64_t integer;
    double real;
    const uint8_t *end; /* of the number; where NUMBER_BAD, the byte it fails at */
} Number;

JSON_INLINE int is_decimal(uint8_t c) { return (uint8_t)(c - '0') < 10; }

/* The number at p. A product or quotient of an integer below 2^53 and a power
   of ten up to 10^22 is exact in one operation; everything else is left to the
   interpreter. */
JSON_INLINE Number scan_number(const uint8_t *p) {
    static const double power_of_ten[] = {
        1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
        1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    Number n = {NUMBER_BAD, 0, 0, p};
    uint64_t mantissa = 0;
    int digits = 0, exponent = 0, negative = 0;

    if (*p == '-') {
        negative = 1;
        p++;
    }
    const uint8_t *start = p;
    if (*p == '0') {
        p++;
        if (is_decimal(*p)) {
            n.end = p;
            return n;
        }
    } else {
        while (is_decimal(*p))
            mantissa = mantissa * 10 + (*p++ - '0');
    }
    digits = p - start;
    n.end = p;
    if (digits == 0)
        return n;

    if (*p != '.' && (*p | 0x20) != 'e') {
        if (digits > 18) {
            n.kind = NUMBER_LONG_INTEGER;
        } else if (negative && mantissa == 0) {
            n.kind = NUMBER_NEGATIVE_ZERO;
        } else {
            n.kind = NUMBER_INTEGER;
            n.integer = negative ? -(int64_t)mantissa : (int64_t)mantissa;
        }
        return n;
    }

    if (*p == '.') {
        start = ++p;
        while (is_decimal(*p))
            mantissa = mantissa * 10 + (*p++ - '0');
        n.end = p;
        if (p == start)
            return n;
        digits += p - start;
        exponent = -(int)(p - start);
    }
    if ((*p | 0x20) == 'e') {
        int sign = 1, e = 0;
        p++;
        if (*p == '+') {
            p++;
        } else if (*p == '-') {
            sign = -1;
            p++;
        }
        start = p;
        while (is_decimal(*p)) {
            if (e < 10000)
                e = e * 10 + (*p - '0');
            p++;
        }
        n.end = p;
        if (p == start)
            return n;
        exponent += sign * e;
    }
    if (digits > 18 || mantissa > (1ull << 53) || exponent < -22 || exponent > 22) {
        n.kind = NUMBER_LONG_DOUBLE;
        return n;
    }
    double real = (double)mantissa;
    real = exponent < 0 ? real / power_of_ten[-exponent] : real * power_of_ten[exponent];
    n.kind = NUMBER_DOUBLE;
    n.real = negative ? -real : real;
    return n;
}
