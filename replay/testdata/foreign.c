/* Calls of a function of a library whose code can be executed. */
#include <string.h>

long sum(const long *v, long n)
{
    long s = 0;
    for (long i = 0; i < n; i++)
        if (v[i] > 0)
            s += v[i];
    return s;
}

long foreign(const long *v, long n)
{
    return n > 0 ? sum(v, n) + 1 : 0;
}

long faulty(const char *s) { return strlen(s) + 1; }

int main(int argc, char **argv)
{
    return argc - 1;
}
