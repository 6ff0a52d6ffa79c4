/* What is stored is read again, and a number that nobody knows is added. */
#include <stdlib.h>

volatile long cell[2];

__attribute__((noinline)) long stored(long a, long b)
{
    cell[0] = a;
    cell[1] = cell[0] + b;
    return cell[1] + rand() % 10 + 100 * (rand() % 10);
}

int main(void) { return stored(1, 2); }
