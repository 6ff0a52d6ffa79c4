// Code in a file of memory that is mapped twice: written by one mapping, executed by the
// other. With an argument that one is made executable later.
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	(void)argv;
	int fd = memfd_create("code", 0);
	if (fd < 0 || ftruncate(fd, 4096) < 0)
		return 1;
	unsigned char *w = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	unsigned char *x = mmap(NULL, 4096, PROT_READ | (argc > 1 ? 0 : PROT_EXEC), MAP_SHARED, fd, 0);
	if (w == MAP_FAILED || x == MAP_FAILED || argc > 1 && mprotect(x, 4096, PROT_READ | PROT_EXEC) < 0)
		return 1;
	unsigned char code[] = {0xb8, 0, 0, 0, 0, 0xc3}; // mov eax, …; ret
	for (int i = 0; i < 3; i++) {
		code[1] = 40 + i;
		memcpy(w, code, sizeof code);
		printf("%d%c", ((int (*)(void))x)(), " \n"[i == 2]);
	}
	return 0;
}
