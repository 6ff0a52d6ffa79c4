// A log that allocates nothing and writes nothing to the heap.
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

static char said[1 << 20];
static int saidLen;

static void say(const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	saidLen += vsnprintf(said + saidLen, sizeof(said) - saidLen, format, ap);
	va_end(ap);
}

static void sayBytes(const void *at, int n)
{
	for (int i = 0; i < n; i++)
		say("%02x", ((const unsigned char *)at)[i]);
}

static void flush(void)
{
	for (int at = 0, n; at < saidLen && (n = write(1, said + at, saidLen - at)) > 0;)
		at += n;
}
