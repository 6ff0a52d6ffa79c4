/* nginx' red-black tree of timers and its queues: connections come, are used and go. */
#include <stdio.h>
#include <stdlib.h>

#include <ngx_config.h>
#include <ngx_core.h>

struct connection { int fd; ngx_rbtree_node_t timer; ngx_queue_t idle; };

static ngx_rbtree_t timers;
static ngx_rbtree_node_t sentinel;
static ngx_queue_t idle;

__attribute__((noinline)) struct connection *start(int fd, int timeout)
{
    struct connection *c = malloc(sizeof *c);
    c->fd = fd;
    c->timer.key = timeout;
    ngx_rbtree_insert(&timers, &c->timer);
    ngx_queue_insert_tail(&idle, &c->idle);
    return c;
}

__attribute__((noinline)) void stop(struct connection *c)
{
    ngx_rbtree_delete(&timers, &c->timer);
    ngx_queue_remove(&c->idle);
    free(c);
}

__attribute__((noinline)) void use(struct connection *c)
{
    ngx_queue_remove(&c->idle);
    ngx_queue_insert_head(&idle, &c->idle);
}

int main(void)
{
    struct connection *all[64] = {0};
    unsigned seed = 4711;
    ngx_rbtree_init(&timers, &sentinel, ngx_rbtree_insert_timer_value);
    ngx_queue_init(&idle);
    for (int i = 0; i < 500; i++) {
        seed = seed * 1103515245u + 12345u;
        struct connection **c = &all[(seed >> 16) % 64];
        if (!*c) {
            *c = start(c - all, (seed >> 8) % 500);
        } else if ((seed >> 24) % 3) {
            stop(*c);
            *c = NULL;
        } else {
            use(*c);
        }
    }
    int n = 0;
    for (ngx_queue_t *q = ngx_queue_head(&idle); q != ngx_queue_sentinel(&idle); q = ngx_queue_next(q))
        n++;
    printf("%d connections\n", n);
    return 0;
}
