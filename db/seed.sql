-- Eleven names that make the page of /database 460 bytes.
INSERT INTO division (id, name) VALUES
    (1, 'Accounts and Finance'),
    (2, 'Customer Relations'),
    (3, 'Engineering and Design'),
    (4, 'Human Resources'),
    (5, 'Information Systems'),
    (6, 'Legal Affairs'),
    (7, 'Logistics and Transport'),
    (8, 'Marketing and Public Relations'),
    (9, 'Production'),
    (10, 'Research & Development'),
    (11, 'Sales');
