use Data::Dumper;
use List::Util qw(sum);
$Data::Dumper::Sortkeys = 1;
my %h;
for my $i (1 .. 20000) {
	$h{"k" . ($i % 513)}{v} += $i;
	push @{$h{"k" . ($i % 513)}{l}}, $i if $i % 7 == 0;
}
print length(join ",", map { "$_=$h{$_}{v}" } sort keys %h), "\n";
my $t = "abc" x 1000;
my $n = () = $t =~ /b(c)a/g;
$t =~ s/(a)(b)/$2$1/g;
print "$n ", substr($t, 0, 20), "\n";
eval { die { code => 3 } };
print $@->{code}, "\n";
local $SIG{ALRM} = sub { print "alarm\n" };
alarm 1;
select undef, undef, undef, 5;
sub fib { my $n = shift; $n < 2 ? $n : fib($n - 1) + fib($n - 2) }
print fib(15), " ", sum(map { $_ * 2 } 1 .. 100), "\n", Dumper($h{k5}{v});
print scalar(`echo child`);
exit 4;
