/* Keeps a map from addresses to names in libiberty's splay tree, as a debugger does
   for its symbols:

       + ADDRESS NAME   add, or rename
       - ADDRESS        remove
       ? ADDRESS        the name of the symbol that the address belongs to  */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "libiberty.h"
#include "splay-tree.h"

static void
drop_name (splay_tree_value name)
{
  free ((char *) name);
}

static void
ask (splay_tree symbols, unsigned long address)
{
  splay_tree_node n = splay_tree_lookup (symbols, address);
  if (!n)
    n = splay_tree_predecessor (symbols, address);
  if (n)
    printf ("%lu: %s+%lu\n", address, (char *) n->value, address - n->key);
  else
    printf ("%lu: unknown\n", address);
}

int
main (int argc, char **argv)
{
  splay_tree symbols = splay_tree_new (splay_tree_compare_ints, NULL, drop_name);
  FILE *in = argc > 1 ? fopen (argv[1], "r") : stdin;
  char line[200], name[100];
  unsigned long address;

  if (!in)
    {
      perror (argv[1]);
      return 1;
    }
  while (fgets (line, sizeof line, in))
    if (sscanf (line, "+ %lu %99s", &address, name) == 2)
      splay_tree_insert (symbols, address, (splay_tree_value) strdup (name));
    else if (sscanf (line, "- %lu", &address) == 1)
      splay_tree_remove (symbols, address);
    else if (sscanf (line, "? %lu", &address) == 1)
      ask (symbols, address);
  splay_tree_delete (symbols);
  return 0;
}
