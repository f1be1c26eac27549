# The same page as apps/database.c, from the same statement.
package Page::Database;

use strict;
use warnings;

use Apache2::Const -compile => qw(OK HTTP_SERVICE_UNAVAILABLE);
use Apache2::RequestIO  ();
use Apache2::RequestRec ();
use Apache2::Response   ();
use APR::Table          ();
use DBI                 ();
use DBD::Pg             ();

my $start = <<'END';
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Divisions</title>
</head>
<body>
<h1>Divisions</h1>
<ul>
END
my $end = <<'END';
</ul>
</body>
</html>
END
my %reference = ('&' => '&amp;', '<' => '&lt;', '>' => '&gt;', '"' => '&quot;', "'" => '&#39;');

# Kept: of this process, or of this interpreter where threads have several.
my ($connection, $statement);

# DBD::Pg sends a statement without parameters as text each time, even when it has prepared it on the server (pg_prepare_now);
# SQL's own PREPARE and EXECUTE save the server parsing and planning, and are faster. Text stays the bytes it is.
sub prepared {
    return $statement if $statement;
    $connection = DBI->connect('dbi:Pg:@CONNINFO@', undef, undef,
        { RaiseError => 1, PrintError => 0, AutoCommit => 1, pg_enable_utf8 => 0 });
    $connection->do('PREPARE divisions AS SELECT name FROM division');
    return $statement = $connection->prepare('EXECUTE divisions');
}

# The rows; undef when the database is away. A connection that was lost meanwhile is made again, once.
sub divisions {
    for (1 .. 2) {
        my $rows = eval { my $query = prepared(); $query->execute; $query->fetchall_arrayref };
        return $rows if $rows;
        warn "the database: $@";
        ($statement, $connection) = ();
    }
    return;
}

sub item {
    my $name = shift;
    return "<li><em>no name</em></li>\n" unless defined $name;
    $name =~ s/([&<>"'])/$reference{$1}/g;
    return "<li>$name</li>\n";
}

sub handler {
    my $request = shift;
    my $rows = divisions() or return Apache2::Const::HTTP_SERVICE_UNAVAILABLE;
    my $page = join '', $start, (map { item($_->[0]) } @$rows), $end;
    $request->content_type('text/html; charset=utf-8');
    $request->headers_out->set('Cache-Control' => 'no-store');
    $request->set_content_length(length $page);
    $request->print($page);
    return Apache2::Const::OK;
}

1;
