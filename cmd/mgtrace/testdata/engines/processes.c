/* Children: their memory is not ours; what the parent does is. */
#define _GNU_SOURCE
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static long *log;

int main(void)
{
	char *args[] = {"true", NULL};
	int *status = malloc(sizeof(*status));
	long *mine = calloc(8, sizeof(*mine));
	pid_t pid;
	FILE *f;

	log = mine;
	for (int i = 0; i < 3; i++) {
		log[i] = i;
		pid = fork();
		if (pid == 0) {
			char *p = malloc(100);
			memset(p, 1, 100);
			for (int j = 0; j < 8; j++)
				log[j] = -1;
			_exit(i);
		}
		waitpid(pid, status, 0);
		log[i + 4] = 1;
	}
	pid = vfork();
	if (pid == 0)
		_exit(9);
	waitpid(pid, status, 0);
	log[3] = 3;
	if (posix_spawnp(&pid, "true", NULL, NULL, args, environ) == 0)
		waitpid(pid, status, 0);
	log[7] = 7;
	f = popen("echo from a child", "r");
	if (f && fgets((char *)log, 40, f))
		pclose(f);
	log[6] = system("true");
	return 0;
}
