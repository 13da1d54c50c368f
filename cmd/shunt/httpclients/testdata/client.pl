use strict;
use warnings;
use LWP::UserAgent;

my $answer = LWP::UserAgent->new->get($ARGV[0]);
die $answer->status_line unless $answer->is_success;
print $answer->content;
