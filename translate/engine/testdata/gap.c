// Three executions of an instruction whose accesses are not known.
#include <stdio.h>

int main(void)
{
	for (int i = 0; i < 3; i++) {
		__asm__ volatile("enter $16, $1\n\tleave" : : : "memory");
		putchar('a' + i);
	}
	putchar('\n');
	return 0;
}
