/* What a healthy C program does with the C library: nothing here may be reported. */
#define _GNU_SOURCE
#include <ctype.h>
#include <pthread.h>
#include <regex.h>
#include <search.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

struct record {
	char name[24]; /* a structure that begins with an array is set and copied whole */
	int n;
	struct record *next;
	char tail[8];
};

static jmp_buf back;
static volatile int caught;
static void handler(int sig) { caught += sig; char *p = malloc(10); strcpy(p, "signal"); free(p); }
static void jumper(int sig) { (void)sig; siglongjmp(back, 1); }

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void *thread(void *p)
{
	char **out = p;
	for (int i = 0; i < 20; i++) {
		free(*out);
		if (asprintf(out, "%d %s %.3f", i, "thread", i / 3.0) < 0)
			abort();
	}
	return NULL;
}

static void blank(struct record *r) { memset(r, 0, sizeof *r); }

/* like sets a structure as a whole, beside a name that it is given, and clears it so. */
__attribute__((noinline)) static void like(struct record *r, char *name, const struct record *from)
{
	caught += name[0];
	memcpy(r, from, sizeof *r);
	*r = *from;
}

__attribute__((noinline)) static void clear(char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i] = 0;
}

/* Arrays whose elements gcc reaches, without optimisation, by the offset of the array before. */
struct series {
	int id;
	char name[16];
	int values[10];
	short pairs[6][2];
	double last;
};

static void set(struct series *r, int i, int v)
{
	r->values[i] = v;
	r->pairs[i % 6][i % 2] = v;
}

static void number(int *to, int n)
{
	for (int i = 0; i < n; i++)
		to[i] = i;
}

static void several(void)
{
	struct series *r = calloc(1, sizeof *r);
	strcpy(r->name, "a name of 15 by");
	for (int i = 0; i < 10; i++)
		set(r, i, i * i);
	for (int i = 16; i < 26; i++)
		r->values[i - 16] = i;
	for (int i = 0; i < 10; i++) {
		int *p = &r->values[i];
		*p += 1;
	}
	for (int i = 0; i < 2; i++) {
		memset(&r->values[4 * i], 0, 4 * sizeof(int));
		number(r->values + 5 * i, 5);
	}
	printf("%s %d %d\n", r->name, r->values[9], r->pairs[5][1]);
	free(r);
}

int main(void)
{
	several();
	char *words[40], *line = NULL, *text = NULL;
	size_t room = 0, total = 0;
	for (int i = 0; i < 40; i++) {
		words[i] = strdup("some text to be changed");
		words[i][i % 20] = toupper((unsigned char)words[i][i % 20]);
	}
	qsort(words, 40, sizeof *words, compare);
	for (int i = 0; i < 40; i++) {
		size_t len = strlen(words[i]);
		text = realloc(text, total + len + 2);
		memcpy(text + total, words[i], len);
		total += len;
		text[total++] = '\n';
		text[total] = 0;
	}
	FILE *f = tmpfile();
	fputs(text, f);
	rewind(f);
	while (getline(&line, &room, f) > 0)
		for (char *t = strtok(line, " \n"); t; t = strtok(NULL, " \n"))
			caught += strspn(t, "soem");
	fclose(f);

	regex_t re;
	regmatch_t m[2];
	if (!regcomp(&re, "t(e|o)[a-z]*", REG_EXTENDED) && !regexec(&re, text, 2, m, 0))
		caught += m[0].rm_so;
	regfree(&re);

	struct record *list = NULL;
	for (int i = 0; i < 30; i++) {
		struct record *r = malloc(sizeof *r), *copy = malloc(sizeof *copy);
		blank(r);
		snprintf(r->name, sizeof r->name, "record number %d", i);
		strncpy(r->tail, "0123456789", sizeof r->tail);
		r->n = i;
		r->next = list;
		*copy = *r;
		memcpy(r, copy, sizeof *r);
		char *at = r->name; /* of the array, and then of the whole */
		at[0] = 'R';
		at = (char *)r;
		memcpy(at, copy, sizeof *r);
		like(r, r->name, copy);
		struct record *aligned;
		if (posix_memalign((void **)&aligned, 64, sizeof *aligned))
			abort();
		clear((char *)aligned, sizeof *aligned);
		like(aligned, copy->name, r);
		free(aligned);
		for (size_t k = 0; k < sizeof *r; k++)
			((unsigned char *)copy)[k] = ((unsigned char *)r)[k];
		free(r);
		list = copy;
	}
	for (struct record *r = list, *next; r; r = next) {
		next = r->next;
		caught += strlen(r->name);
		free(r);
	}

	long *numbers = calloc(100, sizeof *numbers), *end = numbers + 100, *other = malloc(100 * sizeof *other);
	for (long *p = numbers; p < end; p++)
		*p = p - numbers;
	for (long *p = numbers; p < end; p++)
		other[p - numbers] = *p * 2;
	long *moved = realloc(numbers, 1 << 20);
	long *last = moved + (end - 1 - numbers); /* where it has gone */
	caught += *last;
	free(moved);
	free(other);

	wchar_t *wide = malloc(20 * sizeof *wide);
	swprintf(wide, 20, L"%ls %d", L"wide", 7);
	caught += wcslen(wide);
	free(wide);

	void *aligned = NULL, *tree = NULL;
	if (posix_memalign(&aligned, 64, 200))
		abort();
	memset(aligned, 1, 200);
	free(aligned);
	for (int i = 0; i < 40; i++)
		tsearch(words[i], &tree, (int (*)(const void *, const void *))strcmp);
	tdestroy(tree, free == NULL ? free : (void (*)(void *))strlen);

	signal(SIGUSR1, handler);
	raise(SIGUSR1);
	signal(SIGALRM, jumper);
	if (!sigsetjmp(back, 1)) {
		alarm(1);
		pause();
	}
	pthread_t t[3];
	char *made[3] = {0};
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, thread, &made[i]);
	for (int i = 0; i < 3; i++) {
		pthread_join(t[i], NULL);
		caught += strlen(made[i]);
		free(made[i]);
	}
	setenv("NAME", text, 1);
	caught += strlen(getenv("NAME"));
	unsetenv("NAME");
	printf("%d\n", caught > 0);
	for (int i = 0; i < 40; i++)
		free(words[i]);
	free(line);
	free(text);
	return 0;
}
