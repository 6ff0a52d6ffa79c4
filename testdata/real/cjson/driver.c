/* Edits a JSON document: driver DOCUMENT COMMANDS. A command is a line

       append LIST JSON          insert LIST INDEX JSON     replace LIST INDEX JSON
       remove LIST INDEX         move LIST INDEX LIST       set NAME JSON

   where LIST is the name of a list in the document.  */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cJSON.h"

static char *
contents (const char *name)
{
  FILE *f = fopen (name, "r");
  char *text = calloc (1, 1 << 16);
  if (!f || !text || !fread (text, 1, (1 << 16) - 1, f))
    {
      perror (name);
      exit (1);
    }
  fclose (f);
  return text;
}

static void
set (cJSON *object, const char *name, cJSON *value)
{
  if (cJSON_GetObjectItem (object, name))
    cJSON_ReplaceItemInObject (object, name, value);
  else
    cJSON_AddItemToObject (object, name, value);
}

static void
edit (cJSON *document, const char *line)
{
  char name[50], to[50];
  int i, end = 0;
  if (sscanf (line, "append %49s %n", name, &end) == 1)
    cJSON_AddItemToArray (cJSON_GetObjectItem (document, name), cJSON_Parse (line + end));
  else if (sscanf (line, "insert %49s %d %n", name, &i, &end) == 2)
    cJSON_InsertItemInArray (cJSON_GetObjectItem (document, name), i, cJSON_Parse (line + end));
  else if (sscanf (line, "replace %49s %d %n", name, &i, &end) == 2)
    cJSON_ReplaceItemInArray (cJSON_GetObjectItem (document, name), i, cJSON_Parse (line + end));
  else if (sscanf (line, "remove %49s %d", name, &i) == 2)
    cJSON_DeleteItemFromArray (cJSON_GetObjectItem (document, name), i);
  else if (sscanf (line, "move %49s %d %49s", name, &i, to) == 3)
    cJSON_AddItemToArray (cJSON_GetObjectItem (document, to),
                          cJSON_DetachItemFromArray (cJSON_GetObjectItem (document, name), i));
  else if (sscanf (line, "set %49s %n", name, &end) == 1)
    set (document, name, cJSON_Parse (line + end));
}

int
main (int argc, char **argv)
{
  char *text = contents (argv[1]), *commands = contents (argv[argc - 1]), *line;
  cJSON *document = cJSON_Parse (text);
  for (line = strtok (commands, "\n"); line; line = strtok (NULL, "\n"))
    edit (document, line);
  free (text);
  text = cJSON_Print (document);
  puts (text);
  free (text);
  free (commands);
  cJSON_Delete (document);
  return 0;
}
