# The same bytes as apps/hello.c.
package Page::Hello;

use strict;
use warnings;

use Apache2::Const -compile => 'OK';
use Apache2::RequestIO  ();
use Apache2::RequestRec ();
use Apache2::Response   ();
use APR::Table          ();

my $page = <<'END';
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Hello</title>
</head>
<body>
<h1>Hello, World</h1>
<p>This page comes from a compiled application. The web server in front of it knows only its address: it
passes each request on over a kept FastCGI connection, a ready thread calls one C function, and what that
function writes is what you read here.</p>
<p>It does not change: only the way to it is measured.</p>
</body>
</html>
END

sub handler {
    my $request = shift;
    $request->content_type('text/html; charset=utf-8');
    $request->headers_out->set('Cache-Control' => 'no-store');
    $request->set_content_length(length $page);
    $request->print($page);
    return Apache2::Const::OK;
}

1;
