// The element-wise parts of the net in one pass each, bfloat16 in and out, float32 within. Matrices stay with
// torch. Built by fused.py; the same arithmetic in torch alone is in net.py and is what tests compare with.
#include <math.h>
#include <stdint.h>

typedef uint16_t bf;

static inline float up(bf x) {
    union { uint32_t i; float f; } u = {(uint32_t)x << 16};
    return u.f;
}

static inline bf down(float x) {
    union { float f; uint32_t i; } u = {x};
    return (u.i + 0x7fff + (u.i >> 16 & 1)) >> 16;
}

// y = x / rms(x) * w for n rows of d; r keeps 1 / rms.
void rms(const float *x, const float *w, bf *y, float *r, long n, long d) {
    for (long i = 0; i < n; i++, x += d, y += d) {
        float s = 0;
        for (long j = 0; j < d; j++) s += x[j] * x[j];
        r[i] = s = 1 / sqrtf(s / d + 1e-6f);
        for (long j = 0; j < d; j++) y[j] = down(x[j] * s * w[j]);
    }
}

void rms_back(const bf *g, const float *x, const float *w, const float *r, float *dx, float *dw, long n, long d) {
    for (long i = 0; i < n; i++, x += d, g += d, dx += d) {
        float s = 0, q = r[i];
        for (long j = 0; j < d; j++) {
            float gj = up(g[j]);
            s += gj * w[j] * x[j];
            dw[j] += gj * x[j] * q;
        }
        s *= q * q * q / d;
        for (long j = 0; j < d; j++) dx[j] = up(g[j]) * w[j] * q - x[j] * s;
    }
}

// One head of q or k: norm, then rotation by its position. c, s: cosines and sines of w/2 angles.
static void turn(const bf *x, const float *w, const float *c, const float *s, float scale, bf *y, long width) {
    float v[256], m = 0;
    long h = width / 2;
    for (long j = 0; j < width; j++) v[j] = up(x[j]), m += v[j] * v[j];
    m = scale / sqrtf(m / width + 1e-6f);
    for (long j = 0; j < h; j++) {
        float a = v[j] * m * w[j], b = v[j + h] * m * w[j + h];
        y[j] = down(a * c[j] - b * s[j]);
        y[j + h] = down(b * c[j] + a * s[j]);
    }
}

static void turn_back(const bf *g, const bf *x, const float *w, const float *c, const float *s, float scale, bf *dx, float *dw, long width) {
    float v[256], z[256], m = 0, t = 0;
    long h = width / 2;
    for (long j = 0; j < width; j++) v[j] = up(x[j]), m += v[j] * v[j];
    m = 1 / sqrtf(m / width + 1e-6f);
    for (long j = 0; j < h; j++) {
        float a = up(g[j]) * scale, b = up(g[j + h]) * scale;
        z[j] = a * c[j] + b * s[j];
        z[j + h] = b * c[j] - a * s[j];
    }
    for (long j = 0; j < width; j++) {
        dw[j] += z[j] * v[j] * m;
        z[j] *= w[j];
        t += z[j] * v[j];
    }
    t *= m * m * m / width;
    for (long j = 0; j < width; j++) dx[j] = down(z[j] * m - v[j] * t);
}

// qkv [rows, 3, heads, width] of batch x time rows to q, k, v [batch, heads, time, width]; q is scaled for attention.
void heads(const bf *qkv, const float *qw, const float *kw, const float *cos, const float *sin, const long *pos, bf *q, bf *k, bf *v,
           long batch, long time, long n, long width) {
    float scale = 1 / sqrtf(width);
    for (long b = 0; b < batch; b++) for (long t = 0; t < time; t++) {
        const bf *x = qkv + (b * time + t) * 3 * n * width;
        long p = pos[b * time + t] * (width / 2);
        for (long h = 0; h < n; h++) {
            long o = ((b * n + h) * time + t) * width;
            turn(x + h * width, qw, cos + p, sin + p, scale, q + o, width);
            turn(x + (n + h) * width, kw, cos + p, sin + p, 1, k + o, width);
            for (long j = 0; j < width; j++) v[o + j] = x[(2 * n + h) * width + j];
        }
    }
}

void heads_back(const bf *gq, const bf *gk, const bf *gv, const bf *qkv, const float *qw, const float *kw, const float *cos, const float *sin,
                const long *pos, bf *dx, float *dqw, float *dkw, long batch, long time, long n, long width) {
    float scale = 1 / sqrtf(width);
    for (long b = 0; b < batch; b++) for (long t = 0; t < time; t++) {
        long at = (b * time + t) * 3 * n * width, p = pos[b * time + t] * (width / 2);
        for (long h = 0; h < n; h++) {
            long o = ((b * n + h) * time + t) * width, i = at + h * width, j = at + (n + h) * width;
            turn_back(gq + o, qkv + i, qw, cos + p, sin + p, scale, dx + i, dqw, width);
            turn_back(gk + o, qkv + j, kw, cos + p, sin + p, 1, dx + j, dkw, width);
            for (long e = 0; e < width; e++) dx[at + (2 * n + h) * width + e] = gv[o + e];
        }
    }
}

// Softmax over what the mask lets each row see: a [batch, heads, time, time], mask [batch, time, time], in place.
void softmax(bf *a, const uint8_t *mask, long batch, long n, long time) {
    float v[4096];
    for (long b = 0; b < batch; b++) for (long h = 0; h < n; h++) for (long t = 0; t < time; t++) {
        bf *x = a + ((b * n + h) * time + t) * time;
        const uint8_t *m = mask + (b * time + t) * time;
        float top = -1e30f, s = 0;
        for (long j = 0; j <= t; j++) v[j] = m[j] ? up(x[j]) : -1e30f, top = v[j] > top ? v[j] : top;
        for (long j = 0; j <= t; j++) v[j] = m[j] ? expf(v[j] - top) : 0, s += v[j];
        s = 1 / s;
        for (long j = 0; j <= t; j++) x[j] = down(v[j] * s);
        for (long j = t + 1; j < time; j++) x[j] = 0;
    }
}

// g becomes the gradient before the softmax that gave p.
void softmax_back(bf *g, const bf *p, long rows, long time) {
    for (long i = 0; i < rows; i++, g += time, p += time) {
        long seen = i % time + 1;
        float s = 0;
        for (long j = 0; j < seen; j++) s += up(g[j]) * up(p[j]);
        for (long j = 0; j < seen; j++) g[j] = down((up(g[j]) - s) * up(p[j]));
        for (long j = seen; j < time; j++) g[j] = 0;
    }
}

// x [rows, 2 width], gate and up beside each other: y = silu(gate) * up.
void swiglu(const bf *x, bf *y, long n, long width) {
    for (long i = 0; i < n; i++, x += 2 * width, y += width)
        for (long j = 0; j < width; j++) {
            float a = up(x[j]);
            y[j] = down(a / (1 + expf(-a)) * up(x[j + width]));
        }
}

void swiglu_back(const bf *g, const bf *x, bf *dx, long n, long width) {
    for (long i = 0; i < n; i++, x += 2 * width, dx += 2 * width, g += width)
        for (long j = 0; j < width; j++) {
            float a = up(x[j]), s = 1 / (1 + expf(-a)), d = up(g[j]);
            dx[j] = down(d * up(x[j + width]) * s * (1 + a * (1 - s)));
            dx[j + width] = down(d * a * s);
        }
}
