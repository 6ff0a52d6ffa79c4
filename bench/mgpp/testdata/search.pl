# The files below a directory whose names match, by the number in them.
use strict;
my (%found, @todo);
@todo = ($ARGV[0]);
while (defined(my $dir = shift @todo)) {
	opendir(my $d, $dir) or die;
	for my $name (sort readdir $d) {
		next if $name =~ /^\./;
		my $path = "$dir/$name";
		if (-d $path) { push @todo, $path }
		elsif ($name =~ /(\d+)\.c$/) { push @{$found{$1 % 97}}, $path }
	}
}
my $n = 0;
$n += @{$found{$_}} for sort { $a <=> $b } keys %found;
print "$n\n";
