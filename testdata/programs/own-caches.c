/* build: gcc -pthread */
/* Threads with a cache of their own each and a queue that they share, all at work at once: what one is in the middle of says nothing
   of the others. At its end each takes its cache apart, in code that nobody watches.
   FAULT: an entry that is thrown out is still counted, once in some hundred times. */
#include <pthread.h>
#include <stdlib.h>

struct entry {
	int key;
	struct entry *prev, *next;
};

struct cache {
	int n;
	struct entry *head, *tail;
};

struct job {
	int what;
	struct job *next;
};

static struct {
	pthread_mutex_t lock;
	struct job *first, *last;
	int len;
} todo = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void unlink_entry(struct cache *c, struct entry *e)
{
	if (e->prev)
		e->prev->next = e->next;
	else
		c->head = e->next;
	if (e->next)
		e->next->prev = e->prev;
	else
		c->tail = e->prev;
}

static void push_front(struct cache *c, struct entry *e)
{
	e->prev = NULL;
	e->next = c->head;
	if (c->head)
		c->head->prev = e;
	else
		c->tail = e;
	c->head = e;
}

struct entry *cache_get(struct cache *c, int key)
{
	struct entry *e = c->head;
	while (e && e->key != key)
		e = e->next;
	if (e) {
		unlink_entry(c, e);
		push_front(c, e);
		return e;
	}
	if (c->n == 12) {
		e = c->tail;
		unlink_entry(c, e);
		free(e);
#ifdef FAULT
		if (key != 343)
			c->n--; /* FAULT */
#else
		c->n--;
#endif
	}
	e = malloc(sizeof *e);
	e->key = key;
	push_front(c, e);
	c->n++;
	return e;
}

void queue_put(int what)
{
	struct job *j = malloc(sizeof *j);
	j->what = what;
	j->next = NULL;
	pthread_mutex_lock(&todo.lock);
	if (todo.last)
		todo.last->next = j;
	else
		todo.first = j;
	todo.last = j;
	todo.len++;
	pthread_mutex_unlock(&todo.lock);
}

int queue_get(void)
{
	int what = -1;
	pthread_mutex_lock(&todo.lock);
	struct job *j = todo.first;
	if (j) {
		what = j->what;
		todo.first = j->next;
		if (!todo.first)
			todo.last = NULL;
		todo.len--;
		free(j);
	}
	pthread_mutex_unlock(&todo.lock);
	return what;
}

static void *work(void *arg)
{
	unsigned seed = (unsigned)(long)arg;
	struct cache *c = calloc(1, sizeof *c);
	for (int i = 0; i < 800; i++) {
		seed = seed * 1103515245 + 12345;
		int key = seed / 65536 % 400;
		cache_get(c, key);
		if (i % 8 == 0)
			queue_put(key);
		else if (i % 8 == 4)
			queue_get();
	}
	while (c->head) {
		struct entry *e = c->head;
		c->head = e->next;
		free(e);
	}
	free(c);
	return NULL;
}

int main(void)
{
	pthread_t threads[4];
	for (long i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, work, (void *)(i + 1));
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	while (queue_get() >= 0)
		;
	return 0;
}
