declare -A h
for i in {1..1500}; do
	h[$((i % 97))]+=$i
	a+=($i)
done
for k in "${!h[@]}"; do echo "$k=${h[$k]}"; done | sort | cksum
s=
for x in "${a[@]}"; do s=$s${x//1/one}; done
echo ${#s}
fib() {
	local n=$1
	((n < 2)) && { echo $n; return; }
	echo $(($(fib $((n - 1))) + $(fib $((n - 2)))))
}
fib 8
trap 'echo usr1' USR1
kill -USR1 $$
[[ foobar =~ o+(b) ]] && echo "${BASH_REMATCH[1]}"
exec 3< <(seq 5)
while read -r -u3 l; do echo "$l"; done
cat <<<here
exit 5
