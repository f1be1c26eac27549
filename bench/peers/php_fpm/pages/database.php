<?php
// The same page as apps/database.c, from the same statement.

const START = <<<'END'
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Divisions</title>
</head>
<body>
<h1>Divisions</h1>
<ul>

END;
const FINISH = <<<'END'
</ul>
</body>
</html>

END;

// The connection is this process's, kept from one request to the next, and so is what is prepared on it.
function divisions(): array|false
{
    $connection = @pg_pconnect('@CONNINFO@');
    if ($connection === false) {
        return false;
    }
    $result = @pg_execute($connection, 'divisions', []);
    if ($result === false && @pg_prepare($connection, 'divisions', 'SELECT name FROM division') !== false) {
        $result = @pg_execute($connection, 'divisions', []);
    }
    return $result === false ? false : pg_fetch_all_columns($result);
}

$names = divisions();
if ($names === false) {
    http_response_code(503);
    exit;
}
$page = START;
foreach ($names as $name) {
    $page .= $name === null ? "<li><em>no name</em></li>\n" : '<li>' . htmlspecialchars($name) . "</li>\n";
}
$page .= FINISH;
header('Cache-Control: no-store');
header('Content-Length: ' . strlen($page));
echo $page;
