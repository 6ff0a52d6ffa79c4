divert(-1)
define(`loop', `ifelse($1, $2, `', `step($1)loop(incr($1), $2)')')
define(`step', `define(`name$1', `$1')pushdef(`twice', `$1')pushdef(`item'eval($1 % 17), `a$1')ifelse(eval($1 % 3), 0, `popdef(`twice')')ifelse(eval($1 % 5), 0, `undefine(`name'eval($1 - 3))')ifelse(eval($1 % 4), 1, `popdef(`item'eval(($1 + 5) % 17))')')
loop(0, 200)
divert(0)twice item3 name7 name199
undefine(`twice')item16
