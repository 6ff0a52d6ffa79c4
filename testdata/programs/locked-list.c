/* spec: ../specs/locked-list.cons */
/* build: gcc -pthread */
/*
 * A list that two threads push to and pop from under a lock.
 * FAULT: a pop counts down before it knows whether there was anything to take.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct lnode {
	int value;
	struct lnode *next;
};

static struct {
	pthread_mutex_t lock;
	struct lnode *head;
	int count;
} list = { .lock = PTHREAD_MUTEX_INITIALIZER };

void list_push(int value)
{
	struct lnode *n = malloc(sizeof *n);
	n->value = value;
	pthread_mutex_lock(&list.lock);
	n->next = list.head;
	list.head = n;
	list.count++;
	pthread_mutex_unlock(&list.lock);
}

int list_pop(void)
{
	int value = -1;
	pthread_mutex_lock(&list.lock);
	struct lnode *n = list.head;
#ifdef FAULT
	list.count--; /* FAULT */
	if (n)
		list.head = n->next;
#else
	if (n) {
		list.count--;
		list.head = n->next;
	}
#endif
	pthread_mutex_unlock(&list.lock);
	if (n) {
		value = n->value;
		free(n);
	}
	return value;
}

static void *work(void *arg)
{
	for (int i = 0; i < 40; i++) {
		list_push(i);
		if (i % 4 == 3)
			for (int k = 0; k < 3; k++)
				list_pop();
	}
	return arg;
}

int main(void)
{
	pthread_t a, b;
	pthread_create(&a, NULL, work, NULL);
	pthread_create(&b, NULL, work, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	while (list_pop() >= 0)
		;
	list_push(1);
	printf("%d\n", list.count > -100);
	return 0;
}
