/* What a compiler makes of ordinary code: each line of the output is one call, with its result. */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef long num;

#define CALL __attribute__((noinline)) num

struct pair { num a, b; struct pair *next; int small; short tiny; char text[6]; };

CALL arith(num a, num b) { return (a * 3 - b) ^ (a << 5) ^ (b >> 3) ^ ((unsigned long)a >> 7); }
CALL divide(num a, num b) { return b == 0 ? -1 : a / b * 1000 + a % b; }
CALL narrow(num a, num b) { int x = a, y = b; unsigned u = a; return (y == 0 ? 7 : x / (y == -1 ? 2 : y)) + (u >> 3) + (short)a + (signed char)b; }
CALL bigger(num a, num b) { return a > b ? a - b : (unsigned long)a < (unsigned long)b ? b : a + b; }
CALL choose(num a, num b)
{
    switch (a & 15) {
    case 0: return b + 1;
    case 1: return b * 5;
    case 2: return b ^ 77;
    case 3: return -b;
    case 4: return ~b;
    case 5: return b | 12;
    case 6: return b & 99;
    case 9: return b << 2;
    default: return a;
    }
}
CALL loops(num a, num b)
{
    num s = 0;
    for (num i = 0; i < (a & 63); i++)
        for (num j = i; j < (b & 15); j += 2)
            s += i * j - (i == j);
    return s;
}
CALL structs(num a, num b)
{
    struct pair p = { a, b, NULL, (int)a, (short)b, "abcde" }, q = p, *l = &q;
    q.next = &p;
    p.text[a & 3] = 'x';
    num s = 0;
    for (; l; l = l->next)
        s += l->a * 2 + l->b + l->small + l->tiny + l->text[2] + l->text[1];
    return s;
}
CALL chain(num a, num b)
{
    struct pair *head = NULL;
    num s = 0;
    for (num i = 0; i < (a & 7); i++) {
        struct pair *p = calloc(1, sizeof *p);
        p->a = i * b;
        p->next = head;
        head = p;
        strcpy(p->text, i & 1 ? "odd" : "even");
    }
    while (head) {
        struct pair *p = head;
        head = p->next;
        s = s * 3 + p->a + (num)strlen(p->text) + (strcmp(p->text, "odd") == 0);
        free(p);
    }
    return s;
}
CALL sorted(num a, num b)
{
    int v[16], s = 0;
    for (int i = 0; i < 16; i++)
        v[i] = (int)((a >> i) ^ (b << i)) % 100;
    for (int i = 1; i < 16; i++)
        for (int j = i; j > 0 && v[j - 1] > v[j]; j--) {
            int t = v[j];
            v[j] = v[j - 1];
            v[j - 1] = t;
        }
    for (int i = 0; i < 16; i++)
        s = s * 7 + v[i];
    return s;
}
CALL floats(num a, num b)
{
    double x = (double)(a % 1000), y = (double)(b % 1000 + 2000);
    return (num)(x * 1.5 + y / 3 - (x < y ? 10.25 : 0.5));
}
/* Numbers of four bytes, roots, the lesser and the greater one, and none at all. */
CALL singles(num a, num b)
{
    volatile float zero = 0;
    float x = (float)(a % 5000) / 7, y = (float)(int)b * 0.25f, z = x * y - y / (x + 1);
    double wide = z, nan = zero / zero;
    float low = x < y ? x : y, high = x > y ? x : y;
    num s = (num)(low * 8) + (num)(high / 1000) * 3 + (z > x) + 2 * (nan == nan) + 4 * (zero / zero < x) + 8 * (z != y);
    return s + (int)(wide / 1e6) + (num)__builtin_sqrt((double)(a & 0xffff)) + (num)(__builtin_sqrtf((float)(b & 0xff)) * 100);
}
/* Comparisons that choose without a jump. */
CALL chosen(num a, num b)
{
    double x = (double)(a % 700), y = (double)(b % 900), low[4], high[4];
    float f[4];
    for (int i = 0; i < 4; i++) {
        low[i] = x * i < y ? x + i : y - i;
        high[i] = x <= y * i ? -x : y;
        f[i] = (float)x > (float)y + i ? 2.5f : (float)i != (float)x ? 1.5f : 0;
    }
    num s = x < y ? (y > 3) : (x != 7);
    for (int i = 0; i < 4; i++)
        s = s * 3 + (num)low[i] + (num)high[i] * 2 + (num)(f[i] * 2);
    return s;
}
/* What is vectorized, where that is done. */
CALL arrays(num a, num b)
{
    int v[16], w[16];
    double d[8];
    float f[8];
    unsigned char c[32];
    num s = 0;
    for (int i = 0; i < 16; i++) {
        v[i] = (int)a * i ^ (int)b;
        w[i] = (int)b + i * 77;
    }
    for (int i = 0; i < 16; i++)
        v[i] = v[i] > w[i] ? v[i] - w[i] : w[i] == 5 ? 9 : v[i] >> 3;
    for (int i = 0; i < 8; i++) {
        d[i] = (double)v[i] * 0.5 - w[i];
        f[i] = (float)v[i] / 3 + (float)w[i];
    }
    for (int i = 0; i < 32; i++)
        c[i] = (unsigned char)(a >> (i & 15)) < 99 ? (unsigned char)b + i : 7;
    for (int i = 0; i < 16; i++)
        s += v[i] * 3L + c[i] - c[31 - i] * 2;
    for (int i = 0; i < 8; i++)
        s = s * 5 + (num)d[i] - (num)f[i];
    return s;
}
CALL deep(num a, num b) { return (a & 31) == 0 ? b : deep((a & 31) - 1, b + a) + 1; }
CALL bits(num a, num b) { return (num)__builtin_bswap64(a) + __builtin_ctzl(b | 256) + (a < 0) + (b != 0) * 2 + !a; }

CALL locked(num a, num b)
{
    num x = a, want = b & 3;
    short h = a;
    num was = __atomic_fetch_add(&x, b, __ATOMIC_SEQ_CST);
    int swapped = __atomic_compare_exchange_n(&x, &want, b * 3, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    num then = x;
    swapped += 2 * __atomic_compare_exchange_n(&x, &then, a - b, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    short seen = b;
    swapped += 4 * __atomic_compare_exchange_n(&h, &seen, 7, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return was * 31 + x * 7 + want + swapped + then + __atomic_sub_fetch(&h, 2, __ATOMIC_SEQ_CST) + seen;
}
CALL flags(num a, num b)
{
    unsigned u = (unsigned)a;
    u |= 1u << (b & 31);
    u &= ~(1u << (a & 31));
    return u ^ 1u << (b >> 3 & 31);
}

static num twice(num n) { return 2 * n; }

/* Its variables lie more than 128 bytes below the frame's end, and the function that it calls before it. */
CALL room(num a, num b)
{
    volatile num v[40];
    num (*volatile f)(num) = twice;
    for (int i = 0; i < 40; i++)
        v[i] = a + i;
    v[3] += b;
    return f(v[0] + v[3]) + v[39];
}

#define SHOW(f) printf(#f " %ld %ld %ld\n", a, b, f(a, b))

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
CALL texts(num a, num b)
{
    char s[16], t[16], *p;
    num sum = 0;
    for (int i = 0; i < 15; i++) {
        s[i] = "abXY"[(a >> 2 * i) & 3];
        t[i] = "ABxy"[((a >> 2 * i) ^ (b >> i & 1)) & 3];
    }
    s[15] = t[15] = 0;
    pthread_mutex_lock(&mutex);
    sum = strcasecmp(s, t) < 0 ? -1 : strcasecmp(s, t) > 0;
    sum += strncasecmp(s, t, b & 15) ? 10 : 20;
    p = strchr(s, "aXz"[(unsigned)b % 3]);
    sum += p ? (p - s) * 100 : -100;
    p = strrchr(s, 'b');
    sum += p ? (p - s) * 1000 : -1000;
    p = memchr(s, 'Y', b & 15);
    sum += p ? (p - s) * 10000 : -10000;
    sum += strnlen(s, b & 31) * 100000 + (strchr(s, 0) - s) * 1000000;
    pthread_mutex_unlock(&mutex);
    return sum;
}
/* Locks that come and go with what they guard: what lies beside them stays. */
CALL guarded(num a, num b)
{
    struct { num before; pthread_mutex_t mutex; pthread_rwlock_t rwlock; pthread_cond_t cond; pthread_spinlock_t spin; int after; } *g = malloc(sizeof *g);
    g->before = a, g->after = (int)b;
    num failed = pthread_mutex_init(&g->mutex, NULL) + pthread_rwlock_init(&g->rwlock, NULL) + pthread_cond_init(&g->cond, NULL) + pthread_spin_init(&g->spin, 0);
    failed += pthread_mutex_lock(&g->mutex) + pthread_rwlock_tryrdlock(&g->rwlock) + pthread_cond_signal(&g->cond) + pthread_spin_lock(&g->spin);
    failed += pthread_spin_unlock(&g->spin) + pthread_rwlock_unlock(&g->rwlock) + pthread_mutex_unlock(&g->mutex);
    failed += pthread_spin_destroy(&g->spin) + pthread_cond_destroy(&g->cond) + pthread_rwlock_destroy(&g->rwlock) + pthread_mutex_destroy(&g->mutex);
    num sum = g->before * 3 + g->after + failed * 1000;
    free(g);
    return sum;
}

CALL kinds(num a, num b)
{
    char s[16], *p;
    num sum = 0;
    for (int i = 0; i < 15; i++)
        s[i] = a >> 3 * i & 0x7f;
    s[15] = 0;
    for (int i = 0; i < 15; i++) {
        int c = s[i];
        sum = sum * 3 + !!isalpha(c) + !!isdigit(c) * 2 + !!isspace(c) * 4 + !!ispunct(c) * 8 + !!isxdigit(c) * 16 + !!iscntrl(c) * 32 + !!isupper(c) * 64
            + !!islower(c) * 128 + !!isalnum(c) * 256 + !!isgraph(c) * 512 + !!isprint(c) * 1024 + !!isblank(c) * 2048 + tolower(c) * 4096 + (toupper)(c) * 8192;
    }
    sum += strspn(s, "0123456789abc") * 3 + strcspn(s, "klm,.") * 5;
    p = strpbrk(s, "xyzXYZ ");
    sum += p ? (p - s) * 7 : -7;
    s[2] = "abcd"[b & 3];
    p = strstr("cat bat dad act", s + 2);
    return sum + (p ? *p : 999);
}

static num hashed(const char *s)
{
    num h = 5381;
    while (*s)
        h = h * 33 ^ *s++;
    return h;
}
static __attribute__((noinline)) int listed(char *to, size_t size, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int n = vsnprintf(to, size, format, list);
    va_end(list);
    return n;
}
/* What printf makes of arguments in registers and on the stack. */
CALL formats(num a, num b)
{
    char t[400], u[12], v[200];
    short h = a;
    int w = (int)(b & 7);
    double x = (double)(a % 100000) / 7;
    int n = sprintf(t, "%d|%i|%u|%x|%X|%o|%c|%s|%5.3s|%-8s|%%|%ld|%lx|%lu|%hd|%hhu|%zu|%08d|%+d|% d|%-6d.|%.4d|%*d|%-*d|%#lx|%.0d|%p|%3c", (int)a, (int)b, (unsigned)a, (unsigned)b,
        (unsigned)a, (unsigned)b, (int)('a' + (a & 15)), "text", "abcdef", "left", a, b, (unsigned long)a, h, (int)(unsigned char)b, (size_t)a, (int)b, (int)a, (int)b, (int)a, (int)(b & 63), w,
        (int)a, -w, (int)b, (unsigned long)(a | 1), (int)(b & 1), (void *)(a | 1), 'z');
    int m = snprintf(u, sizeof u, "key%ld:%d", a, (int)b);
    int k = listed(v, sizeof v, "%d %s %f %ld %g %c %d %d %e %.2f %G %u %5.1f %+g %f %f %f", (int)a, u, x, b, x * 1e9, 'c', (int)b, 7, x / 1e5, x, (double)(int)b, (unsigned)a, x, -x, x, 1.5, x / 3);
    return hashed(t) ^ hashed(u) * 3 ^ hashed(v) * 7 + n + m * 1000 + k + (snprintf(NULL, 0, "%d", (int)a) << 20);
}
/* Numbers that are read from a text. */
CALL numerals(num a, num b)
{
    char t[100], *end, *stop;
    snprintf(t, sizeof t, " \t%ld rest", a / 3);
    num s = strtol(t, &end, 10) + (end - t) + atoi("  -17x") + atol("+99") + atoi(t + 40 * (b & 1) * 0);
    s = s * 3 + strtol("0x1fg", &end, 0) + strtol("0x", &stop, 16) + strtol("0755", NULL, 0) + strtol("zz", NULL, 36);
    s = s * 3 + *end + *stop + (num)strtoul("-5", NULL, 10) + (num)strtoul("18446744073709551615", &end, 10) + strtol("none", &stop, 10) + *stop;
    strcpy(t, "begin");
    strcat(t, a & 1 ? "odd" : "even");
    strncat(t, "abcdef", b & 7);
    char *d = strndup(t, 7);
    s = s * 3 + hashed(t) + hashed(d);
    free(d);
    return s;
}
/* Pieces of a text, and what is sought there. */
CALL pieces(num a, num b)
{
    char t[32], u[32], *save, *rest = u, *p;
    num s = 0;
    for (int i = 0; i < 31; i++)
        t[i] = "abAB ,;\t"[(a >> 2 * i ^ b >> i) & 7];
    t[31] = 0;
    strcpy(u, t);
    s = strcasestr(t, "ab") ? strcasestr(t, "ab") - t : 50;
    p = memmem(t, 31, ", ", 2);
    s = s * 3 + (p ? p - t : 40) + (strchrnul(t, ';') - t);
    p = memrchr(t, 'B', b & 31);
    s = s * 3 + (p ? p - t : 40);
    for (p = strtok_r(t, " ,", &save); p; p = strtok_r(NULL, b & 1 ? ";" : "\t ", &save))
        s = s * 5 + hashed(p) + (p - t);
    while ((p = strsep(&rest, " ;")))
        s = s * 7 + hashed(p) + (p - u);
    strcpy(u, "one  two,three");
    for (p = strtok(u, a & 1 ? " ," : "e"); p; p = strtok(NULL, " "))
        s = s * 5 + hashed(p);
    bzero(u + 2, b & 7);
    for (int i = 0; i < 16; i++) {
        int c = u[i];
        s = s * 3 + (isalpha)(c) + (isspace)(c) + (isxdigit)(c) * 3 + (isdigit)(c + 40) + (ispunct)(c) + (isalnum)(c) + (isupper)(c - 32 > 0 ? c - 32 : -1) + (iscntrl)(c) + (isblank)(c) + (isprint)(c);
    }
    errno = 0;
    return s + hashed(u) + labs(a - b) + abs((int)a) + errno;
}
/* What scanf and strtod read. */
CALL scans(num a, num b)
{
    char t[100], word[20] = "", set[20] = "", two[2] = "", *end;
    int i = 0, x = 0, n = 0, m = 0;
    short h = 0;
    unsigned char hh = 0;
    long l = 0;
    unsigned long z = 0;
    float f = 0;
    double d = 0;
    snprintf(t, sizeof t, " %ld key-%d:%x,%u %.3f rest %g 0x1f 077", a, (int)b & 999, (unsigned)a, (unsigned)b & 0xff, (double)(a % 1000) / 8, (double)(b % 50000) * 1e7);
    num r = sscanf(t, "%ld %3[a-z]-%d:%x,%hhu%n %f %s %lf %i %i", &l, set, &i, &x, &hh, &n, &f, word, &d, &m, &h);
    r = r * 5 + l + hashed(set) + i + x + hh + n * 3 + (num)(f * 8) + hashed(word) + (num)d + m;
    r = r * 5 + sscanf(t, "%*d key%2c%hd", two, &h) + h + two[1];
    r = r * 5 + sscanf("", "%d", &i) + sscanf("  ", " %s", word) + sscanf("x", "%d", &i) + sscanf("7x", "%dy%d", &i, &x) + sscanf("12", "%1d%d%d", &i, &x, &m) + i + x * 3;
    r = r * 5 + sscanf("a]b-c", "%[]a]%[^c]", set, word) + hashed(set) + hashed(word) + sscanf("50%", "%d%%%n", &i, &n) + n + sscanf("-0x1z", "%lx%c", &z, two) + z + two[0];
    r = r * 5 + (num)(strtod(" -12.50e1x", &end) * 2) + *end + (num)(atof("3.") * 10) + (num)(strtof(".5e", &end) * 4) + *end + (num)strtod("+e3", &end) + *end + (num)(atof(t) / 3);
    return r;
}
static int by_key(const void *x, const void *y)
{
    const struct pair *p = x, *q = y;
    return (p->small > q->small) - (p->small < q->small);
}
static int by_text(const void *x, const void *y, void *up) { return *(int *)up * strcmp(*(char **)x, *(char **)y); }
static int is_key(const void *key, const void *y) { return *(int *)key - ((const struct pair *)y)->small; }
/* What the library calls the program's functions for. */
CALL sorted_by(num a, num b)
{
    struct pair v[9] = {0}, *p;
    char *names[] = {"pear", "fig", "plum", "apple", "fig", "kiwi"};
    num s = 0;
    int up = b & 1 ? 1 : -1, key = a & 7;
    for (int i = 0; i < 9; i++) {
        v[i].small = (a >> 3 * i ^ b) & 7;
        v[i].a = i;
    }
    qsort(v, b & 16 ? 9 : b & 7, sizeof *v, by_key);
    qsort_r(names, 6, sizeof *names, by_text, &up);
    qsort(v, 9, sizeof *v, by_key);
    p = bsearch(&key, v, 9, sizeof *v, is_key);
    for (int i = 0; i < 9; i++)
        s = s * 9 + v[i].a * 8 + v[i].small;
    for (int i = 0; i < 6; i++)
        s = s * 3 + hashed(names[i]);
    return s + (p ? p - v : 77);
}
int main(void)
{
    unsigned long s = 42;
    for (int i = 0; i < 40; i++) {
        num a = (num)(s = s * 6364136223846793005ul + 1442695040888963407ul) >> (s >> 59);
        num b = (num)(s = s * 6364136223846793005ul + 1442695040888963407ul) >> (s >> 58);
        SHOW(arith); SHOW(divide); SHOW(narrow); SHOW(bigger); SHOW(choose); SHOW(loops);
        SHOW(structs); SHOW(chain); SHOW(sorted); SHOW(floats); SHOW(singles); SHOW(chosen); SHOW(arrays); SHOW(deep); SHOW(bits); SHOW(flags); SHOW(locked); SHOW(room); SHOW(texts); SHOW(guarded); SHOW(kinds); SHOW(formats); SHOW(numerals); SHOW(pieces); SHOW(scans); SHOW(sorted_by);
    }
    return 0;
}
