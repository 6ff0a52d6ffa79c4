// Threads that wait for each other in all the ways there are: locks, conditions,
// joins, and a plain variable.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
#include <sys/wait.h>
#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static long sum, turn;
static std::atomic<int> ready;
static volatile int hits;

static void handler(int) { hits++; }

static void *adder(void *arg)
{
	long id = (long)arg;
	for (int i = 0; i < 2000; i++) {
		pthread_mutex_lock(&lock);
		sum += id;
		pthread_mutex_unlock(&lock);
	}
	for (int i = 0; i < 20; i++) {
		pthread_mutex_lock(&lock);
		while (turn % 4 != id)
			pthread_cond_wait(&cond, &lock);
		turn++;
		pthread_cond_broadcast(&cond);
		pthread_mutex_unlock(&lock);
		try {
			throw std::runtime_error("x");
		} catch (std::exception &) {
			std::vector<std::string> v(3, "some text that is long enough");
			sum += 0 * v.size();
		}
	}
	return (void *)(id * 10);
}

static void *spinner(void *)
{
	while (!ready.load(std::memory_order_acquire))
		;
	ready = 2;
	return 0;
}

int main()
{
	signal(SIGUSR1, handler);
	pthread_t t[4], s;
	pthread_create(&s, 0, spinner, 0);
	for (long i = 0; i < 4; i++)
		pthread_create(&t[i], 0, adder, (void *)i);
	long all = 0;
	for (int i = 0; i < 4; i++) {
		void *r;
		for (int k = 0; k < 50; k++)
			pthread_kill(s, SIGUSR1);
		pthread_join(t[i], &r);
		all += (long)r;
	}
	ready.store(1, std::memory_order_release);
	while (ready != 2)
		;
	pthread_join(s, 0);
	pid_t child = fork();
	if (child == 0)
		_exit(6);
	int st;
	waitpid(child, &st, 0);
	printf("%ld %ld %ld %s %d\n", sum, turn, all, hits > 0 ? "hit" : "no signal", WEXITSTATUS(st));
	return 0;
}
