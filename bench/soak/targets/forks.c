// Children that change their copy of a list, beside the parent that changes its own.
#include "soak.h"

int main(int argc, char **argv) {
	start(argc, argv);
	struct list l = { 0 };
	for (long i = 0; going_on(i); i++) {
		pid_t child = fork();
		CHECK(child >= 0);
		if (!child) {
			for (long k = 0; k < 100; k++) push(&l, k);
			check(&l);
			_exit(l.length % 50 + 7);
		}
		int status, expected = (int)((l.length + 100) % 50 + 7);
		push(&l, i);
		if (l.length > 300) while (l.length > 100) pop(&l);
		while (waitpid(child, &status, 0) < 0) CHECK(errno == EINTR);
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == expected);
		check(&l);
	}
	return finish();
}
