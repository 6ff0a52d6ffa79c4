// Three executions of an instruction whose address is not recorded.
#include <stdio.h>

int main(void)
{
	static const char table[] = "abcdefgh";
	for (int i = 0; i < 3; i++) {
		char c = i * 2;
		__asm__ volatile("xlatb" : "+a"(c) : "b"(table));
		putchar(c);
	}
	putchar('\n');
	return 0;
}
