// Blocked in read nearly always: the bytes 0, 1, 2, … from standard input, as many
// as there are rounds. Nothing but SIGTERM may interrupt a read.
#include "soak.h"

int main(int argc, char **argv) {
	start(argc, argv);
	struct list l = { 0 };
	unsigned char buffer[64];
	long i = 0;
	while (going_on(i)) {
		ssize_t n = read(STDIN_FILENO, buffer, sizeof buffer);
		if (n < 0) {
			CHECK(errno == EINTR && asked_to_end);
			break;
		}
		CHECK(n > 0);
		for (ssize_t k = 0; k < n; k++, i++) {
			CHECK(buffer[k] == (unsigned char)i);
			push(&l, buffer[k]);
			if (l.length > 1000) pop(&l);
		}
		check(&l);
	}
	check(&l);
	return finish();
}
