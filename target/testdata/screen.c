/* A full-screen program in small: it changes the terminal, restores it when it
   is stopped, and sets it again when it goes on. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

static struct termios saved;
static volatile sig_atomic_t interrupts;

static void enter(void)
{
	struct termios raw = saved;
	raw.c_lflag &= ~(ICANON | ECHO);
	tcsetattr(0, TCSANOW, &raw);
}

static void on_int(int s) { interrupts++; }

static void on_tstp(int s)
{
	sigset_t set;
	tcsetattr(0, TCSANOW, &saved);
	signal(SIGTSTP, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, SIGTSTP);
	raise(SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &set, 0); /* stops here */
	signal(SIGTSTP, on_tstp);
	enter();
}

int main(void)
{
	int told = 0;
	tcgetattr(0, &saved);
	signal(SIGINT, on_int);
	signal(SIGTSTP, on_tstp);
	enter();
	puts("ready");
	fflush(stdout);
	for (;;) {
		usleep(5000);
		if (told != interrupts) {
			told = interrupts;
			printf("handled %d\n", told);
			fflush(stdout);
		}
	}
}
