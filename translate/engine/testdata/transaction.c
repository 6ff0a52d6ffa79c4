// What a transaction would add is added in another way where it is aborted, and nothing
// else is lost: registers and flags are as they were.
#include <stdio.h>

int main(void)
{
	unsigned status = 7;
	unsigned long kept = 41;
	unsigned char carry;
	__asm__ volatile("stc\n\txbegin 1f\n\tmovq $0, %1\n\txend\n1:\tsetc %2\n\tincq %1" : "+a"(status), "+r"(kept), "=q"(carry));
	printf("%lu, carry %d, status %u\n", kept, carry, status);
	return 0;
}
