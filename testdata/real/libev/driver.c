/* Starts, stops and restarts timers in an order that a random number tells, and lets
   those that are due run.  */

#define EV_STANDALONE 1
#define EV_USE_EVENTFD 0
#define EV_USE_TIMERFD 0
#define EV_USE_LINUXAIO 0
#define EV_USE_IOURING 0
#include "ev.c"

struct timer
{
  ev_timer ev;
  struct timer *next;
  int number;
};

static struct timer *all;
static int fired;

static void
ring (struct ev_loop *loop, ev_timer *ev, int events)
{
  fired++;
}

static unsigned
random_below (unsigned n)
{
  static unsigned long seed = 1;
  seed = seed * 6364136223846793005ul + 1442695040888963407ul;
  return (seed >> 33) % n;
}

static struct timer *
any (int timers)
{
  struct timer *t = all;
  for (unsigned n = random_below (timers); n > 0; n--)
    t = t->next;
  return t;
}

int
main (void)
{
  enum { timers = 60, steps = 300 };
  struct ev_loop *loop = ev_loop_new (EVBACKEND_SELECT);
  for (int i = 0; i < timers; i++)
    {
      struct timer *t = malloc (sizeof *t);
      ev_timer_init (&t->ev, ring, 100. + random_below (1000), random_below (2) * 50.);
      t->number = i;
      t->next = all;
      all = t;
    }
  for (int i = 0; i < steps; i++)
    {
      struct timer *t = any (timers);
      switch (random_below (4))
        {
        case 0:
          ev_timer_stop (loop, &t->ev);
          break;
        case 1:
          ev_timer_again (loop, &t->ev);
          break;
        case 2:
          if (!ev_is_active (&t->ev))
            ev_timer_set (&t->ev, 0.001 * random_below (3), 0.);
          /* fall through */
        default:
          ev_timer_start (loop, &t->ev);
        }
      if (i % 20 == 0)
        ev_run (loop, EVRUN_NOWAIT);
    }
  for (struct timer *t = all, *next; t; t = next)
    {
      next = t->next;
      ev_timer_stop (loop, &t->ev);
      free (t);
    }
  ev_loop_destroy (loop);
  return 0;
}
