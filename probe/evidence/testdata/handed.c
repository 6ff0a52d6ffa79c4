/* Parts of objects of which functions of another library get the address. */
struct pos { int x, y; };
struct node {
	struct node *next;
	int key, other;
	struct pos pos, many[3];
	char name[8];
	int last;
};
void takes_number(int *), takes_pos(struct pos *), takes_text(char *), takes_node(struct node *), unasked(int *);

__attribute__((noinline)) void number(struct node *n) { n->other = 1; takes_number(&n->key); }
__attribute__((noinline)) void position(struct pos *p) { takes_pos(p); takes_number(&p->y); }
__attribute__((noinline)) void element(struct node *n, long i) { takes_pos(&n->many[i]); }
__attribute__((noinline)) void text(struct node *n) { takes_text(n->name); }
__attribute__((noinline)) void all(struct node *n) { takes_node(n); }
__attribute__((noinline)) void not(struct node *n) { unasked(&n->last); takes_number(&(int){n->other}); }
int main(int argc, char **argv)
{
	struct node n = {0};

	number(&n), position(&n.pos), element(&n, argc), text(&n), all(&n), not(&n);
	return 0;
}
