// A training step of the whole net in C: forward, loss, backward and AdamW, of one thread. The same arithmetic
// in torch is net.py's, which the self-test in step.py compares with. Built by step.py.
//
// Rows (tokens) of all examples lie one after another without padding. An example is a prefix and options; a
// segment is one of those. A row sees its own segment up to itself, and its example's prefix. Matrices are
// multiplied in bfloat16 with float32 sums (by AMX tiles where the CPU has them), all else is float32.
// What a block needs for its way back is kept, but for the norms' outputs and the activations, which are made again.
// Of the last block's outputs only the ends of options matter, so there its queries and all that comes after attention
// are made for those rows alone, which lie one after another in ao, mid, gu and x.
#include <immintrin.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef uint16_t bf;
typedef float v16 __attribute__((vector_size(64), aligned(4)));

enum { W = 32, CHUNK = 256 }; // width of a head; rows that go through a matrix together

static inline float up(bf x) {
    union { uint32_t i; float f; } u = {(uint32_t)x << 16};
    return u.f;
}

static inline bf down(float x) {
    union { float f; uint32_t i; } u = {x};
    return (u.i + 0x7fff + (u.i >> 16 & 1)) >> 16;
}

typedef struct { // offsets into the weights, which are one array in the order below
    long embed, scale, norm, auxw, auxb, end;
    struct { long n1, qkv, qn, kn, o, n2, gu, down; } b[16];
} Layout;

typedef struct { uint32_t *there, *back; } Pair; // a matrix as pairs of rows of its transpose, and of itself

typedef struct {
    long vocab, d, layers, heads, ff, yes;
    Layout at;
    const float *cos, *sin;
    struct { Pair qkv, o, gu, down; } w[16];
    // grown as batches need
    long rows, chances, widest;
    float *x[17], *mid[16], *qk[16], *dx, *dao, *dqk;
    bf *qkv[16], *ao[16], *gu[16], *dv;
    float *p[16], *tmp;
    // of a chunk
    float *c1, *c2;
    bf *h, *g;
    uint32_t *t, *t2;
} Net;

static void *more(void *p, size_t bytes) {
    free(p);
    return aligned_alloc(64, (bytes + 4095) / 4096 * 4096);
}

// Matrices.

#ifdef __AMX_BF16__
static void tiles(void) {
    struct { uint8_t palette, start, r[14]; uint16_t bytes[16]; uint8_t rows[16]; } c = {1};
    for (int i = 0; i < 8; i++) c.bytes[i] = 64, c.rows[i] = 16;
    _tile_loadconfig(&c);
}
static int allowed(void) { return syscall(SYS_arch_prctl, 0x1023, 18) == 0; }

// C[m,n] = A[m,k] B, or += where add: B as pairs of rows, [k/2, n]. m a multiple of 16, n and k of 32.
static void matmul(float *c, long ldc, const bf *a, long lda, const uint32_t *b, long ldb, long m, long n, long k, int add) {
    for (long j = 0; j < n; j += 32) for (long i = 0; i < m; i += 32) {
        float *o = c + i * ldc + j;
        const bf *x = a + i * lda;
        const uint32_t *y = b + j;
        int two = i + 16 < m;
        if (add) {
            _tile_loadd(0, o, ldc * 4);
            _tile_loadd(1, o + 16, ldc * 4);
            if (two) { _tile_loadd(2, o + 16 * ldc, ldc * 4); _tile_loadd(3, o + 16 * ldc + 16, ldc * 4); }
        } else {
            _tile_zero(0); _tile_zero(1); _tile_zero(2); _tile_zero(3);
        }
        for (long l = 0; l < k; l += 32) {
            _tile_loadd(4, x + l, lda * 2);
            _tile_loadd(6, y + l / 2 * ldb, ldb * 4);
            _tile_loadd(7, y + l / 2 * ldb + 16, ldb * 4);
            _tile_dpbf16ps(0, 4, 6);
            _tile_dpbf16ps(1, 4, 7);
            if (two) {
                _tile_loadd(5, x + 16 * lda + l, lda * 2);
                _tile_dpbf16ps(2, 5, 6);
                _tile_dpbf16ps(3, 5, 7);
            }
        }
        _tile_stored(0, o, ldc * 4);
        _tile_stored(1, o + 16, ldc * 4);
        if (two) { _tile_stored(2, o + 16 * ldc, ldc * 4); _tile_stored(3, o + 16 * ldc + 16, ldc * 4); }
    }
}
#else
static void tiles(void) {}
static int allowed(void) { return 1; }

static void matmul(float *c, long ldc, const bf *a, long lda, const uint32_t *b, long ldb, long m, long n, long k, int add) {
    for (long j = 0; j < n; j += 32) for (long i = 0; i < m; i += 4) {
        float s[4][32] = {{0}};
        for (long l = 0; l < k; l += 2) {
            const uint32_t *y = b + l / 2 * ldb + j;
            for (int r = 0; r < 4; r++) {
                float e = up(a[(i + r) * lda + l]), f = up(a[(i + r) * lda + l + 1]);
                for (int q = 0; q < 32; q++) s[r][q] += e * up(y[q] & 0xffff) + f * up(y[q] >> 16);
            }
        }
        for (int r = 0; r < 4; r++) for (int q = 0; q < 32; q++) c[(i + r) * ldc + j + q] = s[r][q] + (add ? c[(i + r) * ldc + j + q] : 0);
    }
}
#endif

// Rows 2i and 2i+1 of a [m, n] beside each other: [m/2, n].
static void pair(const bf *a, uint32_t *o, long m, long n) {
    for (long i = 0; i < m; i += 2, a += 2 * n, o += n)
        for (long j = 0; j < n; j++) o[j] = (uint32_t)a[j] | (uint32_t)a[n + j] << 16;
}

#ifdef __AVX512F__
static inline __m512i steps(long n) {
    return _mm512_mullo_epi32(_mm512_set1_epi32(n), _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
}
#define COLUMN(o, a, n, at) _mm512_storeu_si512(o, _mm512_i32gather_epi32(at, a, 4))
#else
static inline long steps(long n) { return n; }
#define COLUMN(o, a, n, at) for (int r = 0; r < 16; r++) (o)[r] = (a)[r * n]
#endif

// o [n, m] = a [m, n], m a multiple of 16.
static void transpose(const uint32_t *a, uint32_t *o, long m, long n) {
    __auto_type at = steps(n);
    for (long i = 0; i < m; i += 16) for (long j = 0; j < n; j++) COLUMN(o + j * m + i, a + i * n + j, n, at);
}

// The gradient of a matrix: g [out, in] += dy^T x, of rows of dy [rows, out] and x [rows, in].
static void outer(Net *s, float *g, const bf *dy, const bf *x, long rows, long out, long in) {
    pair(dy, s->t2, rows, out);
    transpose(s->t2, s->t, rows / 2, out); // [out, rows] in bfloat16
    pair(x, s->t2, rows, in);
    matmul(g, in, (bf *)s->t, rows, s->t2, in, out, in, rows, 1);
}

static void pack(Net *s, Pair *p, const float *w, long out, long in) {
    bf *h = (bf *)s->t2;
    for (long i = 0; i < out * in; i++) h[i] = down(w[i]);
    pair(h, p->back, out, in);
    transpose((uint32_t *)h, p->there, out, in / 2);
}

void packed(Net *s, const float *w) {
    for (long l = 0; l < s->layers; l++) {
        long d = s->d, ff = s->ff;
        pack(s, &s->w[l].qkv, w + s->at.b[l].qkv, 3 * d, d);
        pack(s, &s->w[l].o, w + s->at.b[l].o, d, d);
        pack(s, &s->w[l].gu, w + s->at.b[l].gu, 2 * ff, d);
        pack(s, &s->w[l].down, w + s->at.b[l].down, d, ff);
    }
}

// Rows.

static void rms(const float *x, const float *w, bf *y, long n, long d) {
    for (long i = 0; i < n; i++, x += d, y += d) {
        float s = 0;
        for (long j = 0; j < d; j++) s += x[j] * x[j];
        s = 1 / sqrtf(s / d + 1e-6f);
        for (long j = 0; j < d; j++) y[j] = down(x[j] * s * w[j]);
    }
}

// dx += the gradient at x of rms(x), where g is that of its output.
static void rms_back(const float *g, const float *x, const float *w, float *dx, float *dw, long n, long d) {
    for (long i = 0; i < n; i++, x += d, g += d, dx += d) {
        float s = 0, q = 0;
        for (long j = 0; j < d; j++) q += x[j] * x[j], s += g[j] * w[j] * x[j];
        q = 1 / sqrtf(q / d + 1e-6f);
        s *= q * q * q / d;
        for (long j = 0; j < d; j++) {
            dw[j] += g[j] * x[j] * q;
            dx[j] += g[j] * w[j] * q - x[j] * s;
        }
    }
}

// A head of q or k: norm, then rotation by its position.
static void turn(const bf *x, const float *w, const float *c, const float *s, float scale, float *y) {
    float v[W], m = 0;
    for (long j = 0; j < W; j++) v[j] = up(x[j]), m += v[j] * v[j];
    m = scale / sqrtf(m / W + 1e-6f);
    for (long j = 0; j < W / 2; j++) {
        float a = v[j] * m * w[j], b = v[j + W / 2] * m * w[j + W / 2];
        y[j] = a * c[j] - b * s[j];
        y[j + W / 2] = b * c[j] + a * s[j];
    }
}

static void turn_back(const float *g, const bf *x, const float *w, const float *c, const float *s, float scale, bf *dx, float *dw) {
    float v[W], z[W], m = 0, t = 0;
    for (long j = 0; j < W; j++) v[j] = up(x[j]), m += v[j] * v[j];
    m = 1 / sqrtf(m / W + 1e-6f);
    for (long j = 0; j < W / 2; j++) {
        float a = g[j] * scale, b = g[j + W / 2] * scale;
        z[j] = a * c[j] + b * s[j];
        z[j + W / 2] = b * c[j] - a * s[j];
    }
    for (long j = 0; j < W; j++) {
        dw[j] += z[j] * v[j] * m;
        z[j] *= w[j];
        t += z[j] * v[j];
    }
    t *= m * m * m / W;
    for (long j = 0; j < W; j++) dx[j] = down(z[j] * m - v[j] * t);
}

// Attention. Products of a few rows at once: R of them, with all R x 2 sums in registers.

#define EACH(call, i, i0, m) do { long i = i0; for (; i + 4 <= m; i += 4) call(4); for (; i < m; i++) call(1); } while (0)

// o [R, n] = a [R, W] b [W, n], n a multiple of 16.
static inline __attribute__((always_inline)) void across(int R, const float *a, long lda, const float *b, long ldb, float *o, long ldo, long n) {
    long j = 0;
    for (; j + 32 <= n; j += 32) {
        v16 s[4] = {{0}}, t[4] = {{0}};
        for (int k = 0; k < W; k++) {
            v16 e = *(const v16 *)(b + k * ldb + j), f = *(const v16 *)(b + k * ldb + j + 16);
            for (int r = 0; r < R; r++) s[r] += a[r * lda + k] * e, t[r] += a[r * lda + k] * f;
        }
        for (int r = 0; r < R; r++) *(v16 *)(o + r * ldo + j) = s[r], *(v16 *)(o + r * ldo + j + 16) = t[r];
    }
    for (; j < n; j += 16) {
        v16 s[4] = {{0}};
        for (int k = 0; k < W; k++) {
            v16 e = *(const v16 *)(b + k * ldb + j);
            for (int r = 0; r < R; r++) s[r] += a[r * lda + k] * e;
        }
        for (int r = 0; r < R; r++) *(v16 *)(o + r * ldo + j) = s[r];
    }
}

// o [R, W] += sum over k of a[r * ra + k * ka] b[k, W].
static inline __attribute__((always_inline)) void along(int R, const float *a, long ra, long ka, const float *b, long ldb, float *o, long ldo, long n) {
    v16 s[4], t[4];
    for (int r = 0; r < R; r++) s[r] = *(v16 *)(o + r * ldo), t[r] = *(v16 *)(o + r * ldo + 16);
    for (long k = 0; k < n; k++) {
        v16 e = *(const v16 *)(b + k * ldb), f = *(const v16 *)(b + k * ldb + 16);
        for (int r = 0; r < R; r++) s[r] += a[r * ra + k * ka] * e, t[r] += a[r * ra + k * ka] * f;
    }
    for (int r = 0; r < R; r++) *(v16 *)(o + r * ldo) = s[r], *(v16 *)(o + r * ldo + 16) = t[r];
}

static inline long round16(long n) { return (n + 15) & ~15; }

enum { MOST = 2048 }; // rows of an example

static float kt[W * (MOST + 32)], vf[(MOST + 32) * W], of[(MOST + 32) * W], dk[MOST * W], dvf[MOST * W];

// b [W, ld] = a [n, W] transposed, zeros after it.
static void columns(const float *a, long lda, float *b, long ld, long n) {
    __auto_type at = steps(lda);
    long i = 0;
    for (; i + 16 <= n; i += 16) for (long j = 0; j < W; j++) COLUMN(b + j * ld + i, a + i * lda + j, lda, at);
    for (long j = 0; j < W; j++) {
        for (long r = i; r < n; r++) b[j * ld + r] = a[r * lda + j];
        for (long r = n; r < ld; r++) b[j * ld + r] = 0;
    }
}

typedef struct {
    long rows, examples, segments, aux;
    const int *ids, *pos, *segment, *first; // first row of each segment; first segment of each example; both with the end
    const int *y, *auxrow;
    const float *auxvalue;
    long ends; // rows of the last block: the end of each option
    int *end;
} Batch;

// Where the queries of a segment begin: all of it, or in the last block the end of an option alone.
static inline long begins(const Net *s, long l, long m, int prefix) { return l + 1 < s->layers ? 0 : prefix ? m : m - 1; }

// Of example e in layer l; p walks along the kept probabilities.
static float *attend(Net *s, const Batch *b, long l, long e, float *p) {
    long d = s->d, f = b->first[e], t0 = b->segment[f], n = b->segment[b->first[e + 1]] - t0, shared = b->segment[f + 1] - t0, ld = round16(n) + 16;
    for (long h = 0; h < s->heads; h++) {
        const float *q = s->qk[l] + t0 * 2 * d + h * W, *k = q + d;
        const bf *v = s->qkv[l] + t0 * 3 * d + 2 * d + h * W;
        columns(k, 2 * d, kt, ld, n);
        for (long i = 0; i < n; i++) for (long j = 0; j < W; j++) vf[i * W + j] = up(v[i * 3 * d + j]), of[i * W + j] = 0;
        for (long g = f; g < b->first[e + 1]; g++) {
            long a = b->segment[g] - t0, m = b->segment[g + 1] - t0 - a, u = g == f ? 0 : shared, us = round16(u), ws = us + round16(m), i0 = begins(s, l, m, g == f);
            p -= i0 * ws;
#define SCORES(R) across(R, q + (a + i) * 2 * d, 2 * d, kt, ld, p + i * ws, ws, us), across(R, q + (a + i) * 2 * d, 2 * d, kt + a, ld, p + i * ws + us, ws, ws - us)
            EACH(SCORES, i, i0, m);
            for (long i = i0; i < m; i++) {
                float *x = p + i * ws, *y = x + us, top = y[i], sum = 0;
                for (long j = 0; j < u; j++) top = x[j] > top ? x[j] : top;
                for (long j = 0; j < i; j++) top = y[j] > top ? y[j] : top;
                for (long j = 0; j < u; j++) x[j] = expf(x[j] - top), sum += x[j];
                for (long j = 0; j <= i; j++) y[j] = expf(y[j] - top), sum += y[j];
                sum = 1 / sum;
                for (long j = 0; j < u; j++) x[j] *= sum;
                for (long j = u; j < us; j++) x[j] = 0;
                for (long j = 0; j <= i; j++) y[j] *= sum;
                for (long j = i + 1; j < ws - us; j++) y[j] = 0;
            }
#define MIXED(R) along(R, p + i * ws, ws, 1, vf, W, of + (a + i) * W, W, u), along(R, p + i * ws + us, ws, 1, vf + a * W, W, of + (a + i) * W, W, m < i + R ? m : i + R)
            EACH(MIXED, i, i0, m);
            p += m * ws;
            for (long i = i0; i < m; i++) {
                bf *y = s->ao[l] + (l + 1 < s->layers ? t0 + a + i : g - e - 1) * d + h * W; // options before g: g less e + 1 prefixes
                for (long j = 0; j < W; j++) y[j] = down(of[(a + i) * W + j]);
            }
        }
    }
    return p;
}

// The gradients at q, k (dqk) and v (dv) from that at the outputs (dao).
static float *attend_back(Net *s, const Batch *b, long l, long e, float *p, float *room) {
    long d = s->d, f = b->first[e], t0 = b->segment[f], n = b->segment[b->first[e + 1]] - t0, shared = b->segment[f + 1] - t0, ld = round16(n) + 16;
    for (long h = 0; h < s->heads; h++) {
        const float *q = s->qk[l] + t0 * 2 * d + h * W, *k = q + d;
        float *dq = s->dqk + t0 * 2 * d + h * W;
        const bf *v = s->qkv[l] + t0 * 3 * d + 2 * d + h * W;
        for (long i = 0; i < n; i++) for (long j = 0; j < W; j++) vf[i * W + j] = up(v[i * 3 * d + j]), dk[i * W + j] = dvf[i * W + j] = dq[i * 2 * d + j] = 0;
        columns(vf, W, kt, ld, n);
        for (long g = f; g < b->first[e + 1]; g++) {
            long a = b->segment[g] - t0, m = b->segment[g + 1] - t0 - a, u = g == f ? 0 : shared, us = round16(u), ws = us + round16(m), i0 = begins(s, l, m, g == f);
            const float *o = s->dao + h * W + (l + 1 < s->layers ? t0 + a : g - e - 1 - i0) * d; // of the segment's first row
            float *c = room - i0 * ws;
            p -= i0 * ws;
#define AGAINST(R) across(R, o + i * d, d, kt, ld, c + i * ws, ws, us), across(R, o + i * d, d, kt + a, ld, c + i * ws + us, ws, ws - us)
            EACH(AGAINST, i, i0, m);
            for (long i = i0; i < m; i++) {
                float *x = c + i * ws, *y = p + i * ws, sum = 0;
                for (long j = 0; j < ws; j++) sum += x[j] * y[j];
                for (long j = 0; j < ws; j++) x[j] = (x[j] - sum) * y[j];
            }
#define TOQ(R) along(R, c + i * ws, ws, 1, k, 2 * d, dq + (a + i) * 2 * d, 2 * d, u), along(R, c + i * ws + us, ws, 1, k + a * 2 * d, 2 * d, dq + (a + i) * 2 * d, 2 * d, m < i + R ? m : i + R)
            EACH(TOQ, i, i0, m);
#define SHARED(R) along(R, c + i + i0 * ws, 1, ws, q + (a + i0) * 2 * d, 2 * d, dk + i * W, W, m - i0), along(R, p + i + i0 * ws, 1, ws, o + i0 * d, d, dvf + i * W, W, m - i0)
            EACH(SHARED, i, 0, u);
#define OWN(R) { long t = i > i0 ? i : i0; along(R, c + us + i + t * ws, 1, ws, q + (a + t) * 2 * d, 2 * d, dk + (a + i) * W, W, m - t), along(R, p + us + i + t * ws, 1, ws, o + t * d, d, dvf + (a + i) * W, W, m - t); }
            EACH(OWN, i, 0, m);
            p += m * ws;
        }
        for (long i = 0; i < n; i++) for (long j = 0; j < W; j++) {
            dq[i * 2 * d + d + j] = dk[i * W + j];
            s->dv[(t0 + i) * d + h * W + j] = down(dvf[i * W + j]);
        }
    }
    return p;
}

static long chances(const Net *s, const Batch *b, long *widest) {
    long n = 0, most = 0;
    for (long e = 0; e < b->examples; e++) for (long g = b->first[e]; g < b->first[e + 1]; g++) {
        long m = b->segment[g + 1] - b->segment[g], u = g == b->first[e] ? 0 : b->segment[b->first[e] + 1] - b->segment[b->first[e]];
        long size = m * (round16(u) + round16(m));
        n += size;
        most = size > most ? size : most;
    }
    *widest = most;
    return n * s->heads;
}

static void room(Net *s, long rows, long n, long widest) {
    long d = s->d, ff = s->ff;
    if (rows > s->rows) {
        s->rows = rows;
        for (long l = 0; l <= s->layers; l++) s->x[l] = more(s->x[l], rows * d * 4);
        for (long l = 0; l < s->layers; l++) {
            s->mid[l] = more(s->mid[l], rows * d * 4);
            s->qk[l] = more(s->qk[l], rows * 2 * d * 4);
            s->qkv[l] = more(s->qkv[l], rows * 3 * d * 2);
            s->ao[l] = more(s->ao[l], rows * d * 2);
            s->gu[l] = more(s->gu[l], rows * 2 * ff * 2);
        }
        s->dx = more(s->dx, rows * d * 4);
        s->dao = more(s->dao, rows * d * 4);
        s->dqk = more(s->dqk, rows * 2 * d * 4);
        s->dv = more(s->dv, rows * d * 2);
    }
    if (n > s->chances) {
        s->chances = n;
        for (long l = 0; l < s->layers; l++) s->p[l] = more(s->p[l], n * 4);
    }
    if (widest > s->widest) s->tmp = more(s->tmp, (s->widest = widest) * 4);
}

// Rows that come out of a block, with padding.
static long outputs(const Net *s, const Batch *b, long l, long rows) { return l + 1 < s->layers ? rows : (b->ends + 31) & ~31L; }

static void forward(Net *s, const float *w, const Batch *b, long rows) {
    long d = s->d, ff = s->ff;
    float mul = w[s->at.scale] * sqrtf(d), qscale = 1 / sqrtf(W);
    for (long i = 0; i < rows; i++) for (long j = 0; j < d; j++) s->x[0][i * d + j] = i < b->rows ? w[s->at.embed + b->ids[i] * d + j] * mul : 0;
    for (long l = 0; l < s->layers; l++) {
        for (long i = 0; i < rows; i += CHUNK) {
            long n = rows - i < CHUNK ? rows - i : CHUNK;
            rms(s->x[l] + i * d, w + s->at.b[l].n1, s->h, n, d);
            matmul(s->c1, 3 * d, s->h, d, s->w[l].qkv.there, 3 * d, n, 3 * d, d, 0);
            bf *y = s->qkv[l] + i * 3 * d;
            for (long j = 0; j < n * 3 * d; j++) y[j] = down(s->c1[j]);
            for (long r = i; r < i + n; r++) {
                long p = r < b->rows ? b->pos[r] * (W / 2) : 0;
                for (long h = 0; h < s->heads; h++) {
                    turn(s->qkv[l] + r * 3 * d + h * W, w + s->at.b[l].qn, s->cos + p, s->sin + p, qscale, s->qk[l] + r * 2 * d + h * W);
                    turn(s->qkv[l] + r * 3 * d + d + h * W, w + s->at.b[l].kn, s->cos + p, s->sin + p, 1, s->qk[l] + r * 2 * d + d + h * W);
                }
            }
        }
        float *p = s->p[l];
        for (long e = 0; e < b->examples; e++) p = attend(s, b, l, e, p);
        long all = outputs(s, b, l, rows), real = l + 1 < s->layers ? b->rows : b->ends;
        memset(s->ao[l] + real * d, 0, (all - real) * d * 2);
        for (long i = 0; i < all; i += CHUNK) {
            long n = all - i < CHUNK ? all - i : CHUNK;
            float *m = s->mid[l] + i * d, *y = s->x[l + 1] + i * d;
            if (l + 1 < s->layers) memcpy(m, s->x[l] + i * d, n * d * 4);
            else for (long r = 0; r < n; r++) {
                if (i + r < b->ends) memcpy(m + r * d, s->x[l] + b->end[i + r] * d, d * 4);
                else memset(m + r * d, 0, d * 4);
            }
            matmul(m, d, s->ao[l] + i * d, d, s->w[l].o.there, d, n, d, d, 1);
            rms(m, w + s->at.b[l].n2, s->h, n, d);
            matmul(s->c1, 2 * ff, s->h, d, s->w[l].gu.there, 2 * ff, n, 2 * ff, d, 0);
            for (long r = 0; r < n; r++) {
                const float *a = s->c1 + r * 2 * ff;
                bf *z = s->gu[l] + (i + r) * 2 * ff;
                for (long j = 0; j < 2 * ff; j++) z[j] = down(a[j]);
                for (long j = 0; j < ff; j++) s->g[r * ff + j] = down(a[j] / (1 + expf(-a[j])) * a[j + ff]);
            }
            memcpy(y, m, n * d * 4);
            matmul(y, d, s->g, ff, s->w[l].down.there, d, n, d, ff, 1);
        }
    }
}

static void backward(Net *s, const float *w, float *g, const Batch *b, long rows, const float *dmid) {
    long d = s->d, ff = s->ff;
    float mul = w[s->at.scale] * sqrtf(d), qscale = 1 / sqrtf(W);
    for (long l = s->layers - 1; l >= 0; l--) {
        if (dmid && l + 1 == s->layers / 2) for (long i = 0; i < rows * d; i++) s->dx[i] += dmid[i];
        long all = outputs(s, b, l, rows);
        for (long i = 0; i < all; i += CHUNK) {
            long n = all - i < CHUNK ? all - i : CHUNK;
            float *dx = s->dx + i * d, *act = s->c1, *dact = s->c2;
            const float *m = s->mid[l] + i * d;
            bf *dy = s->h;
            for (long j = 0; j < n * d; j++) dy[j] = down(dx[j]);
            matmul(dact, ff, dy, d, s->w[l].down.back, ff, n, ff, d, 0);
            bf *dgu = (bf *)act, *hidden = s->g;
            for (long r = 0; r < n; r++) {
                const bf *z = s->gu[l] + (i + r) * 2 * ff;
                for (long j = 0; j < ff; j++) {
                    float a = up(z[j]), u = up(z[j + ff]), e = 1 / (1 + expf(-a)), t = dact[r * ff + j];
                    hidden[r * ff + j] = down(a * e * u);
                    dgu[r * 2 * ff + j] = down(t * u * e * (1 + a * (1 - e)));
                    dgu[r * 2 * ff + ff + j] = down(t * a * e);
                }
            }
            outer(s, g + s->at.b[l].down, dy, hidden, n, d, ff);
            rms(m, w + s->at.b[l].n2, s->h, n, d);
            outer(s, g + s->at.b[l].gu, dgu, s->h, n, 2 * ff, d);
            matmul(s->c2, d, dgu, 2 * ff, s->w[l].gu.back, d, n, d, 2 * ff, 0);
            rms_back(s->c2, m, w + s->at.b[l].n2, dx, g + s->at.b[l].n2, n, d);
            for (long j = 0; j < n * d; j++) dy[j] = down(dx[j]);
            outer(s, g + s->at.b[l].o, dy, s->ao[l] + i * d, n, d, d);
            matmul(s->dao + i * d, d, dy, d, s->w[l].o.back, d, n, d, d, 0);
        }
        float *p = s->p[l];
        for (long e = 0; e < b->examples; e++) p = attend_back(s, b, l, e, p, s->tmp);
        if (l + 1 == s->layers) { // from the ends back to all rows
            memcpy(s->dao, s->dx, b->ends * d * 4);
            memset(s->dx, 0, rows * d * 4);
            for (long i = 0; i < b->ends; i++) memcpy(s->dx + b->end[i] * d, s->dao + i * d, d * 4);
        }
        for (long i = 0; i < rows; i += CHUNK) {
            long n = rows - i < CHUNK ? rows - i : CHUNK;
            bf *dy = (bf *)s->c1;
            for (long r = i; r < i + n; r++) {
                bf *z = dy + (r - i) * 3 * d;
                if (r >= b->rows) {
                    memset(z, 0, 3 * d * 2);
                    continue;
                }
                long p = b->pos[r] * (W / 2);
                for (long h = 0; h < s->heads; h++) {
                    turn_back(s->dqk + r * 2 * d + h * W, s->qkv[l] + r * 3 * d + h * W, w + s->at.b[l].qn, s->cos + p, s->sin + p, qscale, z + h * W, g + s->at.b[l].qn);
                    turn_back(s->dqk + r * 2 * d + d + h * W, s->qkv[l] + r * 3 * d + d + h * W, w + s->at.b[l].kn, s->cos + p, s->sin + p, 1, z + d + h * W, g + s->at.b[l].kn);
                }
                memcpy(z + 2 * d, s->dv + r * d, d * 2);
            }
            rms(s->x[l] + i * d, w + s->at.b[l].n1, s->h, n, d);
            outer(s, g + s->at.b[l].qkv, dy, s->h, n, 3 * d, d);
            matmul(s->c2, d, dy, 3 * d, s->w[l].qkv.back, d, n, d, 3 * d, 0);
            rms_back(s->c2, s->x[l] + i * d, w + s->at.b[l].n1, s->dx + i * d, g + s->at.b[l].n1, n, d);
        }
    }
    float dscale = 0;
    for (long i = 0; i < b->rows; i++) for (long j = 0; j < d; j++) {
        long at = s->at.embed + b->ids[i] * d + j;
        dscale += s->dx[i * d + j] * w[at];
        g[at] += s->dx[i * d + j] * mul;
    }
    g[s->at.scale] += dscale * sqrtf(d);
}

// Adds the gradients of a batch to g. Logits of the options of all examples go to out. Returns the summed
// cross-entropy; the loss is (that + aux * examples * mean cross-entropy of the auxiliary answers) / size.
double step(Net *s, const float *w, float *g, long rows0, long examples, long segments, long naux, const int *ids, const int *pos, const int *segment,
            const int *first, const int *y, const int *auxrow, const float *auxvalue, float aux, float size, float *out) {
    Batch b = {rows0, examples, segments, naux, ids, pos, segment, first, y, auxrow, auxvalue};
    long d = s->d, rows = (rows0 + 31) & ~31L, widest, n = chances(s, &b, &widest);
    b.end = malloc(segments * sizeof(int));
    for (long e = 0; e < examples; e++) for (long g = first[e] + 1; g < first[e + 1]; g++) b.end[b.ends++] = segment[g + 1] - 1;
    room(s, rows, n, widest);
    tiles();
    forward(s, w, &b, rows);
    memset(s->dx, 0, rows * d * 4);
    const float *yes = w + s->at.embed + s->yes * d, *nw = w + s->at.norm;
    float *gyes = g + s->at.embed + s->yes * d, *gn = g + s->at.norm;
    double total = 0;
    for (long e = 0, o = 0; e < examples; e++) {
        long k = first[e + 1] - first[e] - 1;
        float top = -1e30f, sum = 0;
        for (long i = 0; i < k; i++) {
            const float *x = s->x[s->layers] + (o + i) * d;
            float q = 0, t = 0;
            for (long j = 0; j < d; j++) q += x[j] * x[j], t += x[j] * nw[j] * yes[j];
            out[o + i] = t / sqrtf(q / d + 1e-6f);
            top = out[o + i] > top ? out[o + i] : top;
        }
        for (long i = 0; i < k; i++) sum += expf(out[o + i] - top);
        total += logf(sum) + top - out[o + y[e]];
        for (long i = 0; i < k; i++) {
            const float *x = s->x[s->layers] + (o + i) * d;
            float *dx = s->dx + (o + i) * d, c = (expf(out[o + i] - top) / sum - (i == y[e])) / size, q = 0, t = 0;
            for (long j = 0; j < d; j++) q += x[j] * x[j], t += x[j] * nw[j] * yes[j];
            q = 1 / sqrtf(q / d + 1e-6f);
            for (long j = 0; j < d; j++) {
                dx[j] += c * (nw[j] * yes[j] * q - x[j] * t * q * q * q / d);
                gn[j] += c * x[j] * q * yes[j];
                gyes[j] += c * x[j] * q * nw[j];
            }
        }
        o += k;
    }
    float *dmid = NULL; // at the middle layer's outputs
    if (naux && aux > 0) {
        dmid = calloc(rows * d, 4);
        const float *aw = w + s->at.auxw, *mid = s->x[s->layers / 2];
        for (long i = 0; i < naux; i++) {
            const float *x = mid + auxrow[i] * d;
            float z = w[s->at.auxb];
            for (long j = 0; j < d; j++) z += x[j] * aw[j];
            float c = (1 / (1 + expf(-z)) - auxvalue[i]) * aux * examples / naux / size;
            for (long j = 0; j < d; j++) dmid[auxrow[i] * d + j] += c * aw[j], g[s->at.auxw + j] += c * x[j];
            g[s->at.auxb] += c;
        }
    }
    backward(s, w, g, &b, rows, dmid);
    free(dmid);
    free(b.end);
    return total;
}

// AdamW on n weights with the gradient scaled by clip; g becomes 0. t counts from 1.
void adamw(float *w, float *g, float *m, float *v, long n, float lr, float b1, float b2, float decay, float clip, long t) {
    float c1 = lr / (1 - powf(b1, t)), c2 = 1 / sqrtf(1 - powf(b2, t));
    for (long i = 0; i < n; i++) {
        float e = g[i] * clip;
        m[i] = b1 * m[i] + (1 - b1) * e;
        v[i] = b2 * v[i] + (1 - b2) * e * e;
        w[i] = w[i] * (1 - lr * decay) - c1 * m[i] / (sqrtf(v[i]) * c2 + 1e-8f);
        g[i] = 0;
    }
}

double norm(const float *g, long n) {
    double s = 0;
    for (long i = 0; i < n; i++) s += (double)g[i] * g[i];
    return sqrt(s);
}

// offsets: embed, scale, norm, auxw, auxb, then n1, qkv, qn, kn, o, n2, gu, down of each layer. NULL where the
// system does not lend the tiles.
Net *make(long vocab, long d, long layers, long heads, long ff, long yes, const long *offsets, const float *cos, const float *sin) {
    if (!allowed() || d != heads * W || ff % 32 || layers > 16) return NULL;
    Net *s = calloc(1, sizeof(Net));
    s->vocab = vocab, s->d = d, s->layers = layers, s->heads = heads, s->ff = ff, s->yes = yes, s->cos = cos, s->sin = sin;
    memcpy(&s->at, offsets, 5 * sizeof(long));
    memcpy(s->at.b, offsets + 5, layers * 8 * sizeof(long));
    long wide = 2 * ff > 3 * d ? 2 * ff : 3 * d;
    for (long l = 0; l < layers; l++) {
        Pair *p[4] = {&s->w[l].qkv, &s->w[l].o, &s->w[l].gu, &s->w[l].down};
        long n[4] = {3 * d * d, d * d, 2 * ff * d, d * ff};
        for (int i = 0; i < 4; i++) p[i]->there = more(NULL, n[i] * 2), p[i]->back = more(NULL, n[i] * 2);
    }
    s->c1 = more(NULL, CHUNK * wide * 4), s->c2 = more(NULL, CHUNK * wide * 4);
    s->h = more(NULL, CHUNK * wide * 2), s->g = more(NULL, CHUNK * wide * 2);
    long most = CHUNK * wide > wide * (d > ff ? d : ff) ? CHUNK * wide : wide * (d > ff ? d : ff);
    s->t = more(NULL, most * 4), s->t2 = more(NULL, most * 4);
    return s;
}
