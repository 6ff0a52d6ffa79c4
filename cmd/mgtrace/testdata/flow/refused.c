/* With an argument, memory becomes writable and executable in the middle. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

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
			mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	}
	return strcmp(kept[19], "kept");
}
