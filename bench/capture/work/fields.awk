# Fields, associative arrays, substitution and formatting of gawk. It reads lines of words.
{
	for (i = 1; i <= NF; i++) {
		count[$i]++
		len[length($i)] += i
	}
	gsub(/e[rn]/, "<&>")
	last[NR % 100] = sprintf("%d:%s", NR, substr($0, 1, 60))
}
END {
	n = asorti(count, order)
	for (i = 1; i <= n; i++) total += i * count[order[i]]
	print NR, n, total, len[4], last[7]
}
