/* Every kind of access that a compiler emits, without a C library: what it executes depends
 * on nothing, under Valgrind too. */
static int data[64];
static unsigned char bytes[256];
static long sum;
static double fs[16];
__attribute__((noinline)) static long fib(long n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__attribute__((noinline)) static void sort(int *a, int n) {
  for (int i = 1; i < n; i++) { int v = a[i], j = i; for (; j > 0 && a[j-1] > v; j--) a[j] = a[j-1]; a[j] = v; }
}
__attribute__((noinline)) static long (*pick(int i))(long) { static long (*t[2])(long) = {fib, fib}; return t[i & 1]; }
void _start(void) {
  for (int i = 0; i < 64; i++) data[i] = (i * 37) & 63;
  sort(data, 64);
  for (int i = 0; i < 256; i++) bytes[i] = i ^ data[i & 63];
  for (int i = 0; i < 16; i++) fs[i] = i * 0.5 + fs[(i + 3) & 15];
  sum = fib(8) + pick(3)(6);
  for (int i = 0; i < 64; i++) sum += data[i] * bytes[i];
  asm volatile("lock addq $3, %0; xaddq %%rax, %0; btsl $70, %0; pushf; popf; push %0; pop %0" : "+m"(sum) : : "rax", "memory", "cc");
  asm volatile("syscall" : : "a"(60), "D"(0) : "rcx", "r11", "memory");
}
