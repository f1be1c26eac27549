<?php
// The same bytes as apps/hello.c.
header('Cache-Control: no-store');
header('Content-Length: 450');
?>
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
