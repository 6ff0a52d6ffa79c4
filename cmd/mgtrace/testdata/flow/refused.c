/* With an argument, the GS base is set in the middle. */
#include <stdlib.h>
#include <string.h>
#include <asm/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	char *kept[20];
	int i;

	(void)argv;
	for (i = 0; i < 20; i++) {
		kept[i] = malloc(100);
		strcpy(kept[i], "kept");
		kept[i][50] = i;
		if (i == 9 && argc > 1)
			syscall(SYS_arch_prctl, ARCH_SET_GS, 0L);
	}
	return strcmp(kept[19], "kept");
}
