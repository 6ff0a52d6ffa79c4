/* Makes children that share its memory, one after the other, until standard
 * input is closed; says how many ended otherwise than they should. */
#include <poll.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
	struct pollfd in = { 0, POLLIN, 0 };
	int bad = 0;

	puts("ready");
	fflush(stdout);
	while (poll(&in, 1, 0) == 0)
	{
		int status = 0;
		pid_t child = vfork();
		if (!child)
			_exit(3);
		if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 3)
			bad++;
	}
	printf("%d failed\n", bad);
	return 0;
}
