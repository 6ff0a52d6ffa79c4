/* One program that ends, or goes on, in the way that its first argument names. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t handled;
static sigjmp_buf back;
char secret[] = "written before the end";
char *volatile heap;

static void on_segv(int s) { handled++; siglongjmp(back, s); }
static void on_signal(int s) { handled++; }

static void *worker(void *arg)
{
	if (!strcmp(arg, "exit"))
		exit(5);
	if (!strcmp(arg, "crash"))
		*(volatile int *)8 = 1;
	if (!strcmp(arg, "last")) {
		usleep(20000);
		_exit(6);
	}
	if (!strcmp(arg, "exec"))
		execl("/bin/echo", "echo", "from a thread", (char *)0);
	return arg;
}

static void *spin(void *arg) { for (;;) ++*(volatile long *)arg; }

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	const char *arg = argc > 2 ? argv[2] : "";
	static long counter[4];
	pthread_t t[8];

	heap = malloc(32);
	strcpy(heap, "on the heap");
	if (!strcmp(how, "code"))
		return atoi(arg);
	if (!strcmp(how, "segv"))
		*(volatile int *)0xdead0 = 1;
	if (!strcmp(how, "wild"))
		*(volatile int *)0x1234567890abcdefL = 1;
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "raise"))
		raise(atoi(arg));
	if (!strcmp(how, "handled")) {
		signal(SIGSEGV, on_segv);
		for (volatile int i = 0; i < 100; i++)
			if (!sigsetjmp(back, 1))
				*(volatile int *)8 = 1;
		printf("handled %d\n", (int)handled);
	}
	if (!strcmp(how, "signals")) {
		int ignored[] = { SIGCHLD, SIGURG, SIGWINCH, SIGCONT };
		signal(SIGUSR1, on_signal);
		signal(SIGALRM, on_signal);
		signal(SIGTERM, SIG_IGN);
		for (int i = 0; i < 100; i++)
			raise(SIGUSR1);
		alarm(1);
		pause();
		raise(SIGTERM);
		for (int i = 0; i < 4; i++)
			raise(ignored[i]);
		printf("handled %d\n", (int)handled);
	}
	if (!strcmp(how, "thread")) {
		pthread_create(t, 0, worker, (void *)arg);
		if (!strcmp(arg, "last"))
			pthread_exit(0);
		pthread_join(t[0], 0);
		if (strcmp(arg, "return"))
			pause();
	}
	if (!strcmp(how, "threads")) {
		for (int round = 0; round < 50; round++) {
			for (int i = 0; i < 8; i++)
				pthread_create(&t[i], 0, worker, "");
			for (int i = 0; i < 8; i++)
				pthread_join(t[i], 0);
		}
		puts("joined");
	}
	if (!strcmp(how, "burst")) { /* ends while its threads begin */
		for (int i = 0; i < 3; i++)
			pthread_create(&t[i], 0, spin, &counter[i]);
		_exit(3);
	}
	if (!strcmp(how, "spin")) {
		for (int i = 0; i < 3; i++)
			pthread_create(&t[i], 0, spin, &counter[i]);
		spin(&counter[3]);
	}
	if (!strcmp(how, "fork")) {
		int status;
		pid_t child = fork();
		if (!child) {
			char buf[4096] = "";
			int fd = open("/proc/self/status", O_RDONLY);
			/* Traced or not: wait until the tracer has let go. */
			for (int i = 0; i < 1000; i++) {
				pread(fd, buf, sizeof buf - 1, 0);
				if (strstr(buf, "TracerPid:\t0"))
					break;
				usleep(1000);
			}
			raise(SIGSTOP); /* a group-stop that only the parent ends */
			_exit(strstr(buf, "TracerPid:\t0") ? 42 : 43);
		}
		waitpid(child, &status, WUNTRACED);
		printf("child stopped %d\n", WIFSTOPPED(status));
		kill(child, SIGCONT);
		waitpid(child, &status, 0);
		printf("child ended %d\n", WEXITSTATUS(status));
	}
	if (!strcmp(how, "vfork")) {
		int status;
		pid_t child = vfork();
		if (!child) {
			execl("/bin/sh", "sh", "-c", "exit 9", (char *)0);
			_exit(1);
		}
		waitpid(child, &status, 0);
		printf("child ended %d\n", WEXITSTATUS(status));
	}
	if (!strcmp(how, "exec"))
		execl("/bin/echo", "echo", "another program", (char *)0);
	if (!strcmp(how, "forever"))
		for (;;)
			pause();
	if (!strcmp(how, "ready")) { /* says so, then waits for a signal it may handle */
		if (!strcmp(arg, "ignore"))
			signal(SIGINT, SIG_IGN);
		if (!strcmp(arg, "handle"))
			signal(SIGINT, on_signal);
		if (!strcmp(arg, "cont"))
			signal(SIGCONT, on_signal);
		puts("ready");
		fflush(stdout);
		while (!handled)
			usleep(10000);
		puts("handled");
		return 7;
	}
	if (!strcmp(how, "fds")) {
		int sig = 0;

		prctl(PR_GET_PDEATHSIG, &sig);
		printf("parent's death: %d\n", sig);
		for (int fd = 3; fd < 256; fd++)
			if (fcntl(fd, F_GETFD) >= 0)
				printf("open %d\n", fd);
	}
	if (!strcmp(how, "cat")) {
		int c;
		while ((c = getchar()) != EOF)
			putchar(c);
	}
	return 0;
}
