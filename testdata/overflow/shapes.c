/*
 * Heap overflows in the shapes of the RIPE testbed (thesis 3.3.3, table 3.5): what is
 * overrun, how the destination is reached, and by which function. With -DFAULT what is
 * copied reaches beyond the buffer and over the target; without, it fits.
 *
 *	-DTARGET=FUNCTION   a function pointer in the next block
 *	         JUMP       a longjmp buffer in the next block
 *	         RETURN     a pointer to a return address in the next block, through which
 *	                    the program writes then (direct), likewise FRAME
 *	         STRUCT     a function pointer in the structure that begins with the buffer
 *	         MEMBER     one behind a buffer in the middle of a structure
 *	-DHOW=MEMCPY STRCPY STRNCPY STRCAT STRNCAT SPRINTF SNPRINTF SSCANF READ LOOP POINTER;
 *	                    without it all of them, one after the other
 *	-DINDIRECT          the destination is reached through a pointer in another function,
 *	                    and what is copied lies in a block too
 *	-DSET               the destination is a pointer that another statement has set (STRUCT),
 *	                    and the length a difference of the low halves of addresses
 */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FUNCTION 1
#define JUMP 2
#define RETURN 3
#define FRAME 4
#define STRUCT 5
#define MEMBER 6
enum { MEMCPY, STRCPY, STRNCPY, STRCAT, STRNCAT, SPRINTF, SNPRINTF, SSCANF, READ, LOOP, POINTER, ALL };

#ifndef HOW
static int how;
#define HOW how
#define EACH for (how = 0; how < ALL; how++)
#else
#define EACH
#endif

#define ROOM 64

struct first {
	char buffer[ROOM];
	void (*call)(void);
	long more;
};

struct member {
	long id;
	char buffer[ROOM];
	void (*call)(void);
	long more;
};

static void *volatile keep; /* the compiler drops no block */

static void harmless(void) { puts("called"); }

static char store[ROOM + 32];
static char *text = store;
static size_t length; /* of the text, without its end */

#define COPY(to)                                                       \
	do {                                                           \
		char *end;                                             \
		(void)end;                                             \
		switch (HOW) {                                         \
		case MEMCPY: memcpy(to, text, length + 1); break;      \
		case STRCPY: strcpy(to, text); break;                  \
		case STRNCPY: strncpy(to, text, length + 1); break;    \
		case STRCAT: (to)[0] = 0; strcat(to, text); break;     \
		case STRNCAT: (to)[0] = 0; strncat(to, text, length); break; \
		case SPRINTF: sprintf(to, "%s", text); break;          \
		case SNPRINTF: snprintf(to, length + 1, "%s", text); break; \
		case SSCANF: sscanf(text, "%s", to); break;            \
		case READ: fill(to); break;                            \
		case LOOP:                                             \
			for (size_t i = 0; i <= length; i++)           \
				(to)[i] = text[i];                     \
			break;                                         \
		case POINTER:                                          \
			end = to;                                      \
			for (size_t i = 0; i <= length; i++)           \
				*end++ = text[i];                      \
			break;                                         \
		}                                                      \
	} while (0)

static void fill(char *to)
{
	int ends[2];
	if (pipe(ends) || write(ends[1], text, length + 1) != (ssize_t)length + 1 || read(ends[0], to, length + 1) < 0)
		exit(9);
	close(ends[0]);
	close(ends[1]);
}

__attribute__((noinline)) static void through(char *to)
{
	COPY(to); /* FAULT */
}

#ifdef INDIRECT
#define FILL(to) through(to)
#else
#define FILL(to) COPY(to) /* FAULT */
#endif

static void once(void)
{
	size_t reach = ROOM - 1;
#ifdef FAULT
	reach = ROOM + (TARGET >= STRUCT ? 11 : 27); /* into what follows, and not up to an end */
#endif
#ifdef INDIRECT
	text = calloc(1, sizeof store);
#endif
	memset(text, 'x', reach);
	length = reach;
	(void)through;

#if TARGET == STRUCT
	struct first *s = malloc(sizeof *s);
	s->call = harmless;
	s->more = 1;
#ifdef SET
	char *to = s->buffer;
	length = (unsigned int)(to + reach) - (unsigned int)to;
	FILL(to); /* FAULT */
#else
	FILL(s->buffer); /* FAULT */
#endif
	s->more++;
#elif TARGET == MEMBER
	struct member *s = malloc(sizeof *s);
	s->id = 1;
	s->call = harmless;
	s->more = 1;
	FILL(s->buffer); /* FAULT */
	s->more++;
#else
	char *buffer = malloc(ROOM);
	struct next { void (*call)(void); long *reach; jmp_buf jump; } *next = malloc(sizeof *next);
	long saved = 1;
	keep = next;
	next->call = harmless;
	next->reach = &saved;
	if (TARGET == JUMP && setjmp(next->jump)) {
		puts("jumped");
		return;
	}
	FILL(buffer); /* FAULT */
#ifndef FAULT /* what is broken is not used: the fault is enough */
	if (TARGET == FUNCTION)
		next->call();
	if (TARGET == RETURN || TARGET == FRAME)
		*next->reach = 2;
	if (TARGET == JUMP)
		longjmp(next->jump, 1);
#endif
#endif
}

int main(void)
{
	EACH once();
	fflush(stdout);
	_exit(0);
}
