-- The table behind /database.
CREATE TABLE division (
    id integer PRIMARY KEY,
    name text NOT NULL
);
