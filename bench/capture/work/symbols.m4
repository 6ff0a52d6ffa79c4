divert(-1)
# Definitions, stacks of definitions and lookups of m4. Argument: -Drounds=N.
define(`loop', `ifelse($1, $2, `', `step($1, eval($1 % 1999), eval($1 * 7 % 97))loop(incr($1), $2)')')
define(`step', `define(`name$2', `$1')pushdef(`item$3', `a$1')ifelse(eval($1 % 3), 0, `', `popdef(`item$3')')ifelse(eval($1 % 5), 0, `undefine(`name$3')')ifdef(`name$2', `define(`sum', eval((sum + len(item$3) + name$2) & 0xffff))')')
define(`sum', 0)
loop(0, rounds)
divert(0)sum item3 name198 name1234
