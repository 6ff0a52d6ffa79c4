/* Loads its flags all the time. A trap flag that is not its own kills it. */
#include <stdio.h>
#include <time.h>

int main(void)
{
	time_t end = time(0) + 2;
	long n = 0, trapped = 0;

	while (time(0) < end) {
		unsigned long flags;

		for (int i = 0; i < 1000; i++) {
			asm volatile("sub $128, %%rsp; pushfq; popfq; nop; pushfq; pop %0; add $128, %%rsp" : "=r"(flags) :: "memory", "cc");
			trapped += flags >> 8 & 1;
			n++;
		}
	}
	printf("%s\n", n ? "went on" : "did not");
	return 0;
}
