# Regular expressions, hashes, sorting and references of perl. Argument: rounds.
use strict;
my ($state, %count, @list) = (12345);
sub rnd { $state = ($state * 1103515245 + 12345) & 0x7fffffff; return $state >> 8 }
for my $i (1 .. $ARGV[0]) {
	my $text = join ' ', map { 'w' . (rnd() % 5000) } 1 .. 12;
	$count{$1}++ while $text =~ /(w\d+5)\b/g;
	push @list, { key => rnd() % 100000, text => $text };
	if (@list > 2000) {
		@list = sort { $a->{key} <=> $b->{key} or $a->{text} cmp $b->{text} } @list;
		splice @list, 0, 1000;
	}
}
my @top = sort { $count{$b} <=> $count{$a} or $a cmp $b } keys %count;
print scalar(@top), " $top[0] $count{$top[0]} $list[0]{key}\n";
