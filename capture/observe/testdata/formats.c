/* Reads numbers of conversions that assigned and formats, both with a NUL behind them, and
 * prints what format.h says was written: a line for each format. */
#include "../../../inline/hook/c/format.h"
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
	char *assigned = 0, *text = 0, *c;
	size_t n = 0, m = 0;
	struct format f;

	while (getdelim(&assigned, &n, 0, stdin) > 0 && getdelim(&text, &m, 0, stdin) > 0) {
		format_start(&f, atoi(assigned));
		for (c = text; f.state != FORMAT_END; c++)
			if (format_step(&f, *c))
				printf("{%u %u %s}", f.argument, f.size, f.block ? "true" : "false");
		putchar('\n');
	}
	return 0;
}
