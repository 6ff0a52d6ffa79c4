// Instructions whose addresses vector registers and masks decide. For each it prints what it
// accesses: "addr size …", an element or a range each. Before that, where its own code lies.
#include <immintrin.h>
#include <stdio.h>

#define OWN __attribute__((section("own")))
extern char __start_own[], __stop_own[];

static int dwords[64];
static long quads[64];
static signed char bytes[256];
static volatile int sink;

static void at(const void *p, int size) { printf("%lx %d ", (long)p, size); }
static void end(void) { putchar('\n'); }

OWN __attribute__((target("avx2"))) static void avx2(void)
{
	__m256i by = _mm256_setr_epi32(0, 3, 5, 7, 9, -1, 20, 33);
	__m256i some = _mm256_setr_epi32(-1, 0, -1, -1, 0, -1, 0, -1);
	__m256i d = _mm256_mask_i32gather_epi32(by, dwords + 8, by, some, 4);
	at(dwords + 8, 4), at(dwords + 13, 4), at(dwords + 15, 4), at(dwords + 7, 4), at(dwords + 41, 4), end();
	__m256i far = _mm256_setr_epi64x(-8, 40, 0, 8);
	__m128i q = _mm256_i64gather_epi32(dwords + 4, far, 2);
	at(dwords, 4), at(dwords + 24, 4), at(dwords + 4, 4), at(dwords + 8, 4), end();
	__m128i two = _mm_mask_i32gather_epi64(_mm_setzero_si128(), (long long *)quads, _mm_setr_epi32(6, 2, 1, 1), _mm_setr_epi32(0, 1, 0, -1), 8);
	at(quads + 2, 8), end();
	_mm256_maskstore_epi32(dwords + 16, some, d);
	at(dwords + 16, 32), end();
	_mm_maskstore_epi64((long long *)quads + 4, _mm_setr_epi32(0, 1, 0, -1), two);
	at(quads + 5, 8), end();
	__m256d f = _mm256_maskload_pd((double *)quads, _mm256_setr_epi64x(0, -1, -1, 1));
	at(quads + 1, 16), end();
	_mm_maskstore_ps((float *)dwords, _mm_setzero_si128(), _mm_setzero_ps());
	end();
	sink += _mm_cvtsi128_si32(q) + _mm256_cvtsd_f64(f);
}

OWN static void sse2(void)
{
	__m128i mask = _mm_setr_epi8(0, 0, -1, 127, -128, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
	_mm_maskmoveu_si128(mask, mask, (char *)bytes + 3);
	at(bytes + 5, 3), end();
}

OWN __attribute__((target("avx512f"))) static void avx512(void)
{
	__m512i by = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, -15);
	__m512i d = _mm512_mask_i32gather_epi32(by, 0x8005, by, dwords + 16, 4);
	at(dwords + 16, 4), at(dwords + 18, 4), at(dwords + 1, 4), end();
	__m512i far = _mm512_setr_epi64(0, 1, 2, 3, 40, 5, 6, 1);
	_mm512_mask_i64scatter_epi64(quads, 0xd2, far, d, 8);
	at(quads + 1, 8), at(quads + 40, 8), at(quads + 6, 8), at(quads + 1, 8), end();
	_mm512_mask_compressstoreu_epi32(dwords + 5, 0x8421, d);
	at(dwords + 5, 16), end();
	d = _mm512_mask_expandloadu_epi64(d, 0x41, quads + 3);
	at(quads + 3, 16), end();
	_mm512_mask_storeu_epi32(dwords + 9, 0x0140, d);
	at(dwords + 15, 12), end();
	// Registers that only EVEX can name.
	__asm__ volatile("vmovdqu64 %0, %%zmm20\n\tkmovw %1, %%k3\n\t"
			 "vpgatherdd 64(%2,%%zmm20,4), %%zmm21%{%%k3%}"
			 : : "m"(by), "r"(0x4002), "r"(dwords) : "xmm20", "xmm21", "k3", "memory");
	at(dwords + 17, 4), at(dwords + 30, 4), end();
	sink += _mm_cvtsi128_si32(_mm512_castsi512_si128(d));
}

OWN int main(void)
{
	printf("%lx %lx\n", (long)__start_own, (long)__stop_own);
	char c = 11;
	__asm__ volatile("xlatb" : "+a"(c) : "b"(bytes) : "memory");
	at(bytes + 11, 1), end();
	c = -2;
	__asm__ volatile("addr32 xlatb" : "+a"(c) : "b"((long)bytes | 1L << 40) : "memory");
	at(bytes + 254, 1), end();
	sse2();
	if (__builtin_cpu_supports("avx2"))
		avx2();
	if (__builtin_cpu_supports("avx512f"))
		avx512();
	return sink == 1;
}
