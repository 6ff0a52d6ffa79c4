// An index of documents: the words in an AVL tree, where each occurs in a list
// of its own. Documents are made, indexed, and dropped again when they are old.
// Argument: how many documents.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VOCABULARY = 4000, KEPT = 50, LENGTH = 1500 };

struct posting { int document, place; struct posting *next; };
struct word {
	char *text;
	int height;
	struct posting *first;
	struct word *left, *right;
};
struct text { char *bytes; size_t length; };

static struct word *root;
static struct text kept[KEPT];
static unsigned state = 12345;

static unsigned rnd(void) { return (state = state * 1103515245u + 12345u) >> 8; }
static int height(struct word *w) { return w ? w->height : 0; }
static void measure(struct word *w) {
	int l = height(w->left), r = height(w->right);
	int h = (l > r ? l : r) + 1;
	if (h != w->height) w->height = h;
}
static struct word *rotate_right(struct word *w) {
	struct word *l = w->left;
	w->left = l->right, l->right = w;
	measure(w), measure(l);
	return l;
}
static struct word *rotate_left(struct word *w) {
	struct word *r = w->right;
	w->right = r->left, r->left = w;
	measure(w), measure(r);
	return r;
}
static struct word *balance(struct word *w) {
	measure(w);
	int d = height(w->left) - height(w->right);
	if (d > 1) {
		if (height(w->left->left) < height(w->left->right)) w->left = rotate_left(w->left);
		return rotate_right(w);
	}
	if (d < -1) {
		if (height(w->right->right) < height(w->right->left)) w->right = rotate_right(w->right);
		return rotate_left(w);
	}
	return w;
}
static struct word *insert(struct word *w, const char *text, struct word **found) {
	if (!w) {
		w = calloc(1, sizeof *w);
		w->text = strdup(text);
		w->height = 1;
		return *found = w;
	}
	int c = strcmp(text, w->text);
	if (!c) { *found = w; return w; }
	struct word **side = c < 0 ? &w->left : &w->right, *below = insert(*side, text, found);
	if (*side == below && below->height < w->height) return w;
	*side = below;
	return balance(w);
}
static struct word *find(const char *text) {
	struct word *w = root;
	for (int c; w && (c = strcmp(text, w->text)); ) w = c < 0 ? w->left : w->right;
	return w;
}

static struct text make_text(void) {
	char *bytes = malloc(LENGTH * 12);
	size_t n = 0;
	for (int i = 0; i < LENGTH; i++) {
		unsigned w = rnd() % VOCABULARY * (rnd() % 1000) / 1000;
		for (unsigned k = 0; k < 3 + w % 5; k++) bytes[n++] = 'A' + (w * (k + 7) + w / 11) % 26;
		bytes[n++] = ' ';
	}
	return (struct text){ bytes, n };
}
static void lower(struct text t) {
	for (size_t i = 0; i < t.length; i++)
		if (t.bytes[i] >= 'A' && t.bytes[i] <= 'Z') t.bytes[i] += 'a' - 'A';
}
static char *next_word(struct text t, size_t *at) {
	char *w = t.bytes + *at, *end = memchr(w, ' ', t.length - *at);
	if (!end) return NULL;
	*end = 0;
	*at = (size_t)(end - t.bytes) + 1;
	return w;
}

__attribute__((noinline)) void add_document(int document, struct text t) {
	size_t at = 0;
	for (char *text; (text = next_word(t, &at)); ) {
		struct word *w = find(text);
		if (!w) root = insert(root, text, &w);
		struct posting *p = malloc(sizeof *p);
		*p = (struct posting){ document, (int)(text - t.bytes), w->first };
		w->first = p;
	}
}
static void forget(struct word *w, int before) {
	if (!w) return;
	struct posting **p = &w->first;
	while (*p && (*p)->document >= before) p = &(*p)->next;
	for (struct posting *old = *p, *next; old; old = next) next = old->next, free(old);
	if (*p) *p = NULL;
	forget(w->left, before), forget(w->right, before);
}
static long sum(struct word *w) {
	if (!w) return 0;
	long s = w->text[0];
	for (struct posting *p = w->first; p; p = p->next) s += p->document ^ p->place;
	return s + sum(w->left) * 3 + sum(w->right) * 5;
}

int main(int argc, char **argv) {
	int documents = argc > 1 ? atoi(argv[1]) : 100;
	for (int d = 0; d < documents; d++) {
		struct text t = make_text();
		lower(t);
		add_document(d, t);
		free(kept[d % KEPT].bytes);
		kept[d % KEPT] = t;
		if (d % KEPT == KEPT - 1) forget(root, d - KEPT / 2);
	}
	printf("%d documents, height %d, sum %ld\n", documents, height(root), sum(root));
	return 0;
}
