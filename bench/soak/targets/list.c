// A list that grows and shrinks.
#include "soak.h"

int main(int argc, char **argv) {
	start(argc, argv);
	struct list l = { 0 };
	for (long i = 0; going_on(i); i++) {
		for (int k = 0; k < 60; k++) push(&l, i * k);
		for (int k = 0; k < 50 || l.length > 2000; k++) pop(&l);
		check(&l);
	}
	check(&l);
	return finish();
}
