/* build: gcc -ldl */
/* Libraries that come and go while the program runs. */
#include <dlfcn.h>
#include <stdlib.h>

int main(void)
{
	double *results = malloc(4 * sizeof(*results));
	for (int i = 0; i < 3; i++) {
		void *lib = dlopen("libm.so.6", RTLD_NOW);
		double (*f)(double) = lib ? (double (*)(double))dlsym(lib, "cbrt") : NULL;
		results[i] = f ? f(i) : -1;
		if (lib)
			dlclose(lib);
		results[3] = i;
	}
	return dlopen("no-such-library.so", RTLD_NOW) != NULL;
}
