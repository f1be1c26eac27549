-- The tables of the demonstration. Read at each start as well: one that is new is made in a database that is not.

-- The one behind /database.
CREATE TABLE IF NOT EXISTS division (
    id integer PRIMARY KEY,
    name text NOT NULL
);

-- The one behind /guestbook.
CREATE TABLE IF NOT EXISTS guestbook (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL,
    message text NOT NULL,
    written timestamptz NOT NULL DEFAULT now()
);
