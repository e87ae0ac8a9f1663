-- A small lending library in SQLite: schema, a few rows, and the usual questions.

PRAGMA foreign_keys = ON;

CREATE TABLE book (
    id      INTEGER PRIMARY KEY,
    title   TEXT NOT NULL,
    subject TEXT NOT NULL
);

CREATE TABLE loan (
    id       INTEGER PRIMARY KEY,
    book_id  INTEGER NOT NULL REFERENCES book (id),
    card     INTEGER NOT NULL,       -- number on the reader's card
    taken    TEXT NOT NULL,          -- dates as YYYY-MM-DD, which sort correctly
    returned TEXT,                   -- empty while the book is out
    CHECK (returned IS NULL OR returned >= taken)
);

-- A book can be lent only once at a time.
CREATE UNIQUE INDEX one_open_loan ON loan (book_id) WHERE returned IS NULL;

INSERT INTO book (id, title, subject) VALUES
    (1, 'Trees of the Valley', 'nature'),
    (2, 'Bread in Winter', 'food'),
    (3, 'The Repair of Clocks', 'crafts'),
    (4, 'Birds at the Window', 'nature');

INSERT INTO loan (book_id, card, taken, returned) VALUES
    (1, 12, '2023-03-01', '2023-03-20'),
    (2, 15, '2023-03-04', NULL),
    (1, 15, '2023-04-02', NULL),
    (4, 12, '2023-02-10', '2023-02-17');

-- Which books are on the shelf now?
SELECT title
FROM book
WHERE NOT EXISTS (
    SELECT 1 FROM loan WHERE loan.book_id = book.id AND loan.returned IS NULL
)
ORDER BY title;

-- How often was each subject asked for? Subjects without loans count as zero.
SELECT book.subject, COUNT(loan.id) AS loans
FROM book
LEFT JOIN loan ON loan.book_id = book.id
GROUP BY book.subject
ORDER BY loans DESC, book.subject;

-- How many days did finished loans last on average?
SELECT ROUND(AVG(julianday(returned) - julianday(taken)), 1) AS mean_days
FROM loan
WHERE returned IS NOT NULL;
