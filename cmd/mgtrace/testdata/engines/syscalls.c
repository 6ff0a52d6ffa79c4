/* System calls that write to the heap, and those that change what is mapped. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
	char *p = malloc(1 << 16);
	struct iovec *v = malloc(3 * sizeof(*v));
	struct msghdr *m = calloc(1, sizeof(*m));
	struct pollfd *polls = malloc(2 * sizeof(*polls));
	struct epoll_event *events = malloc(4 * sizeof(*events));
	int *fd = malloc(2 * sizeof(int)), pair[2], n = 0;
	char *map;

	if (pipe(fd) || socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return 1;
	n += write(fd[1], "0123456789abcdef", 16);
	n += read(fd[0], p, 4);
	v[0] = (struct iovec){p + 16, 2};
	v[1] = (struct iovec){p + 32, 0};
	v[2] = (struct iovec){p + 48, 100};
	n += readv(fd[0], v, 3);
	n += read(-1, p, 10);			/* fails: writes nothing */
	n += write(pair[0], "over a socket, in pieces", 24);
	n += recv(pair[1], p + 64, 5, 0);
	n += recv(pair[1], p + 64, 5, MSG_PEEK);
	n += recvfrom(pair[1], p + 70, 6, 0, NULL, NULL);
	m->msg_iov = v;
	m->msg_iovlen = 1;
	m->msg_control = p + 1024;
	m->msg_controllen = 64;
	n += recvmsg(pair[1], m, 0);
	polls[0] = (struct pollfd){pair[1], POLLIN, 0};
	polls[1] = (struct pollfd){fd[0], POLLIN, 0};
	n += poll(polls, 2, 0);
	n = epoll_create1(0);
	events[0] = (struct epoll_event){EPOLLIN, {.u64 = 0x1122334455667788}};
	epoll_ctl(n, EPOLL_CTL_ADD, pair[1], events);
	epoll_wait(n, events + 1, 3, 0);
	n = open("/proc/self/exe", O_RDONLY);
	pread(n, p, 64, 1);
	v[0] = (struct iovec){p + 100, 30};
	v[2] = (struct iovec){p + 200, 70};
	preadv(n, v, 3, 2);
	fstat(n, (struct stat *)p);
	stat("/dev/null", (struct stat *)p);
	statx(n, "", AT_EMPTY_PATH, STATX_SIZE, (struct statx *)(p + 512));
	if (getrandom(p + 100, 20, 0) != 20)
		return 2;
	memset(p + 100, 0, 20);
	uname((struct utsname *)p);
	if (!getcwd(p, 1000) || readlink("/proc/self/fd/0", p, 100) < 0)
		return 3;
	getrlimit(RLIMIT_NOFILE, (struct rlimit *)p);
	getsockname(pair[0], (struct sockaddr *)p, memset(p + 64, 16, 4));
	getsockopt(pair[0], SOL_SOCKET, SO_TYPE, p + 128, (socklen_t *)(p + 64));
	sigaltstack(NULL, (stack_t *)p);
	if (syscall(SYS_getgroups, 0, p) < 0)
		return 4;

	map = mmap(NULL, 5 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	*(char **)(map + 4096) = map;
	mprotect(map, 4096, PROT_READ);
	munmap(map + 8192, 4096);
	munmap(map, 4096);
	map = mremap(map + 4096, 4096, 64 * 4096, MREMAP_MAYMOVE);
	map[63 * 4096] = 1;
	madvise(map, 4096, MADV_DONTNEED);
	munmap(map, 64 * 4096);
	map = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, n, 0);
	munmap(map, 4096);
	map = sbrk(8192);
	*(uint64_t *)(map + 8184) = 5;
	sbrk(-8192);
	return 0;
}
