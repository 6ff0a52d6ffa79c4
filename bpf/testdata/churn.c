// A program that does to its heap what programs do, in two threads: lists,
// trees, strings, growing arrays, structures copied whole.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct node {
	struct node *left, *right;
	char name[40];
	unsigned bits : 3, more : 7;
	double weight;
	uint8_t tag;
	uint16_t pair[3];
};

static struct node *root[2];
static char **words[2];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t *shared;

static struct node *insert(struct node *n, unsigned key)
{
	if (!n) {
		n = calloc(1, sizeof(*n));
		snprintf(n->name, sizeof(n->name), "node %u", key);
		n->bits = key;
		n->weight = key / 3.0;
		return n;
	}
	n->more++;
	n->pair[key % 3] += key;
	if (key & 1)
		n->left = insert(n->left, key >> 1);
	else
		n->right = insert(n->right, key >> 1);
	n->tag ^= key;
	return n;
}

static void drop(struct node *n)
{
	if (!n)
		return;
	drop(n->left);
	drop(n->right);
	free(n);
}

static void *work(void *arg)
{
	long t = (long)arg;
	unsigned seed = 7 + t;
	size_t count = 0, room = 0;
	struct node copy;

	for (int i = 0; i < 400; i++) {
		seed = seed * 1103515245 + 12345;
		root[t] = insert(root[t], seed >> 22);
		if (count == room) {
			room = room ? 2 * room : 4;
			words[t] = realloc(words[t], room * sizeof(*words[t]));
		}
		words[t][count] = strdup(root[t]->name);
		strcat(strcpy(words[t][count], "w"), "x");
		words[t][count][0] = 'a' + i % 26;
		count++;
		if (i % 50 == 49 && root[t]->left) {
			copy = *root[t]->left;
			copy.weight += 1;
			*root[t]->left = copy;
			memmove(words[t] + 1, words[t], (count - 1) * sizeof(*words[t]));
			drop(root[t]->left->left);
			root[t]->left->left = NULL;
		}
		pthread_mutex_lock(&lock);
		shared[i % 8] += i;
		pthread_mutex_unlock(&lock);
		__sync_fetch_and_add(&shared[8], 1);
	}
	return NULL;
}

int main(void)
{
	pthread_t other;
	int fd[2];

	shared = malloc(9 * sizeof(*shared));
	memset(shared, 0, 9 * sizeof(*shared));
	pthread_create(&other, NULL, work, (void *)1);
	work((void *)0);
	pthread_join(other, NULL);
	if (pipe(fd) || write(fd[1], "from the pipe", 13) != 13 || read(fd[0], root[0]->name, 13) != 13)
		return 1;
	_exit(0);
}
