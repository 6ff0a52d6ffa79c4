/* Where scanf(3) and its kin have written, by their format and how many conversions they
 * assigned: character by character, for the kernel's programs too (package bpf).
 * capture/observe/format.go says the same in Go. */
#ifndef MGTRACE_INLINE_FORMAT_H
#define MGTRACE_INLINE_FORMAT_H

#define FORMAT_MAX 4096	/* characters; what follows is left to the audit */

enum { FORMAT_TEXT, FORMAT_CONVERSION, FORMAT_SET, FORMAT_NEGATED, FORMAT_IN_SET, FORMAT_END };
enum { LENGTH_INT, LENGTH_CHAR, LENGTH_SHORT, LENGTH_LONG, LENGTH_LONGER };

struct format {
	int left;	/* conversions that assigned, from here on */
	unsigned state;
	unsigned next;	/* pointer of the next conversion, from 0 */
	unsigned position, width, length;
	_Bool suppressed, allocates;
	_Bool sure;	/* nothing can have failed since the last of those that assigned */
	/* What format_step has found: */
	unsigned argument;	/* the pointer, from 0 */
	unsigned size;	/* bytes it writes there; 0: a string */
	_Bool block;	/* they are in a block whose address it writes there */
};

static inline void format_start(struct format *f, int assigned)
{
	*f = (struct format){ .left = assigned, .sure = 1 };
	if (assigned < 0)
		f->state = FORMAT_END;	/* EOF */
}

static inline unsigned format_size(unsigned char c, unsigned length, unsigned width)
{
	switch (c) {
	case 'c':
		return (width ? width : 1) * (length == LENGTH_LONG ? 4 : 1);
	case 'C':
		return (width ? width : 1) * 4;
	case 'p':
		return 8;
	case 'a': case 'e': case 'f': case 'g': case 'A': case 'E': case 'F': case 'G':
		return length == LENGTH_LONG ? 8 : length == LENGTH_LONGER ? 10 : 4;
	}
	return length == LENGTH_CHAR ? 1 : length == LENGTH_SHORT ? 2 : length >= LENGTH_LONG ? 8 : 4;
}

/* Ends a conversion. It is true if that has written and it is known how much. */
static inline _Bool format_end(struct format *f, unsigned char c)
{
	_Bool string = c == 's' || c == '[';

	f->state = FORMAT_TEXT;
	if (f->suppressed) {
		f->sure = 0;
		return 0;
	}
	f->argument = f->position ? f->position - 1 : f->next++;
	f->size = string ? 0 : format_size(c, f->length, f->width);
	f->block = f->allocates;
	if (c == 'n')
		return f->left > 0 || f->sure;
	if (!f->left) {
		f->state = FORMAT_END;
		return 0;
	}
	f->left--;
	f->sure = 1;
	return c != 'S' && !(string && f->length == LENGTH_LONG);	/* of wide characters */
}

/* Takes a character behind a percent sign. */
static inline _Bool format_convert(struct format *f, unsigned char c)
{
	if ('0' <= c && c <= '9') {
		f->width = 10 * f->width + c - '0';
		return 0;
	}
	switch (c) {
	case '$':
		f->position = f->width;
		f->width = 0;
		return 0;
	case '*':
		f->suppressed = 1;
		return 0;
	case 'm':
		f->allocates = 1;
		return 0;
	case '\'': case 'I':
		return 0;
	case 'h':
		f->length = f->length == LENGTH_SHORT ? LENGTH_CHAR : LENGTH_SHORT;
		return 0;
	case 'l':
		f->length = f->length == LENGTH_LONG ? LENGTH_LONGER : LENGTH_LONG;
		return 0;
	case 'j': case 'z': case 't':
		f->length = LENGTH_LONG;
		return 0;
	case 'L': case 'q':
		f->length = LENGTH_LONGER;
		return 0;
	case '[':
		f->state = FORMAT_SET;
		return 0;
	case '%':
		f->state = FORMAT_TEXT;
		f->sure = 0;
		return 0;
	case 'd': case 'i': case 'o': case 'u': case 'x': case 'X': case 'n': case 'p':
	case 'a': case 'e': case 'f': case 'g': case 'A': case 'E': case 'F': case 'G':
	case 'c': case 'C': case 's': case 'S':
		return format_end(f, c);
	}
	f->state = FORMAT_END;	/* not known: nor is what follows */
	return 0;
}

/* Takes the next character of a format. It is true if that ends a conversion which has
 * written. */
static inline _Bool format_step(struct format *f, unsigned char c)
{
	if (!c)
		f->state = FORMAT_END;
	switch (f->state) {
	case FORMAT_TEXT:
		if (c == '%') {
			f->state = FORMAT_CONVERSION;
			f->position = f->width = f->length = 0;
			f->suppressed = f->allocates = 0;
		} else if (c != ' ' && !('\t' <= c && c <= '\r')) {
			f->sure = 0;
		}
		return 0;
	case FORMAT_CONVERSION:
		return format_convert(f, c);
	case FORMAT_SET:
		f->state = c == '^' ? FORMAT_NEGATED : FORMAT_IN_SET;
		return 0;
	case FORMAT_NEGATED:	/* the first character is one of the set, the bracket too */
		f->state = FORMAT_IN_SET;
		return 0;
	case FORMAT_IN_SET:
		return c == ']' && format_end(f, '[');
	}
	return 0;
}

#endif
