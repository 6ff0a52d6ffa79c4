/* A call through a pointer that may lead to a function of the library. */
#include <stdio.h>

long through(long (*f)(long), long a) { return f(a) + 1; }

int main(int argc, char **argv)
{
    puts(argv[0]);
    return 0;
}
