// Threads that come and go and share a list.
#include "soak.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct list shared;
static _Atomic long pushed;

static void *work(void *arg) {
	struct list own = { 0 };
	for (long i = 0; i < 40; i++) {
		push(&own, i);
		pthread_mutex_lock(&lock);
		push(&shared, i + (long)arg);
		if (shared.length > 500) pop(&shared);
		pthread_mutex_unlock(&lock);
		pushed++;
	}
	check(&own);
	long sum = own.sum;
	while (own.first) pop(&own);
	return (void *)sum;
}

int main(int argc, char **argv) {
	start(argc, argv);
	long i;
	for (i = 0; going_on(i); i++) {
		pthread_t threads[4];
		for (long t = 0; t < 4; t++) CHECK(!pthread_create(&threads[t], NULL, work, (void *)t));
		for (int t = 0; t < 4; t++) {
			void *sum;
			CHECK(!pthread_join(threads[t], &sum));
			CHECK((long)sum == 40 * 39 / 2);
		}
		check(&shared);
	}
	CHECK(pushed == i * 4 * 40);
	return finish();
}
