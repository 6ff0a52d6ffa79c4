# Strings, indexed and associative arrays, functions and arithmetic of bash.
# Argument: rounds.
declare -A seen
declare -a words
state=12345
next() { state=$(((state * 1103515245 + 12345) & 0x7fffffff)); }
for ((i = 0; i < $1; i++)); do
	next
	key=k$((state % 997))
	seen[$key]=$((${seen[$key]:-0} + 1))
	words[i % 500]=${key^^}-$i
	line="${words[i % 500]} ${words[i / 3 % 500]} $key"
	line=${line//K/x}
	if [[ $line == *x1* ]]; then ((hits++)); fi
done
for k in "${!seen[@]}"; do ((sum += ${seen[$k]} * ${#k})); done
echo "${#seen[@]} $hits $sum ${words[7]}"
