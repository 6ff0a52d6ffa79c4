// Code that is written, executed, and written over: in memory that is writable and
// executable at once, and on the stack, for nested functions.
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static const unsigned char returns[] = {0xb8, 1, 0, 0, 0, 0xc3};  // mov eax, 1; ret
static const unsigned char carry[] = {0xf9, 0xeb, 0,              // stc; jmp +0
                                      0x19, 0xc0, 0xc3};          // sbb eax, eax; ret
static const unsigned char loop[] = {0x31, 0xc0,                  // xor eax, eax
                                     0x83, 0xc0, 3,               // add eax, 3
                                     0xff, 0xcf, 0x75, 0xf9, 0xc3}; // dec edi; jnz; ret

static int apply(int (*f)(int), int x) { return f(x); }

int main(int argc, char **argv)
{
	unsigned char *m = mmap(0, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int (*f)(int) = (int (*)(int))(m + 4090); // over the pages' border
	int sum = 0, k = argc;
	int add(int x) { return x + k; }
	for (int i = 0; i < 20; i++) {
		memcpy(m + 4090, returns, sizeof returns);
		m[4091] = i;
		sum += f(0);
		memcpy(m + 4090, carry, sizeof carry);
		sum += f(0) + f(1);
		memcpy(m + 4090, loop, sizeof loop);
		sum += f(5);
		m[4094] = 1; // the middle of its second block
		sum += f(7);
		k = i;
		sum += apply(add, i);
	}
	mprotect(m, 8192, PROT_READ | PROT_EXEC);
	sum += f(2);
	mprotect(m, 8192, PROT_READ | PROT_WRITE);
	m[4094] = 2;
	mprotect(m, 8192, PROT_READ | PROT_EXEC);
	sum += f(2);
	printf("%d\n", sum);
	return 0;
}
