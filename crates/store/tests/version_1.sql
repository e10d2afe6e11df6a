-- A database as the first version wrote it. It stays as it is: every later version has to read it.
PRAGMA application_id = 1398227556;
PRAGMA user_version = 1;
CREATE TABLE conversation (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL,
    workspace BLOB NOT NULL,
    working_dir BLOB NOT NULL,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    settings TEXT NOT NULL,
    usage TEXT NOT NULL,
    resume TEXT
) STRICT;
CREATE INDEX conversation_by_workspace ON conversation (workspace, updated);
CREATE TABLE message (
    id INTEGER PRIMARY KEY,
    conversation INTEGER NOT NULL REFERENCES conversation (id) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    role TEXT NOT NULL,
    at INTEGER NOT NULL,
    ending TEXT NOT NULL,
    parts TEXT NOT NULL,
    digest INTEGER NOT NULL,
    UNIQUE (conversation, number)
) STRICT;
CREATE VIRTUAL TABLE words USING fts5 (text, tokenize = 'unicode61 remove_diacritics 2');
INSERT INTO words (words, rank) VALUES ('secure-delete', 1);
CREATE TRIGGER message_gone AFTER DELETE ON message BEGIN
    DELETE FROM words WHERE rowid = old.id;
END;
CREATE TABLE workspace (
    path BLOB PRIMARY KEY,
    record TEXT NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO conversation VALUES (
    7, 'old', 'from long ago', CAST('/ws' AS BLOB), CAST('/ws/sub' AS BLOB), 1705314600123, 1705314700456,
    '{"agent":"claude","model":null,"temperature":0.5,"max_tokens":null}',
    '{"input_tokens":5,"cached_tokens":0,"output_tokens":3,"cost":null}',
    '{"session":"abc"}'
);
INSERT INTO message VALUES (11, 7, 1, 'user', 1705314600200, '"complete"', '[{"text":"the quick fox"}]', 0);
INSERT INTO message VALUES (
    12, 7, 2, 'assistant', 1705314600300, '{"failed":"it broke"}',
    '[{"thought":"hm"},{"tool":{"call":{"id":"t","name":"read","kind":"read","parameters":{"path":"x"}},"result":{"id":"t","status":"completed","output":"o"}}},{"text":"slow dogs"}]',
    0
);
INSERT INTO words (rowid, text) VALUES (11, 'the quick fox'), (12, 'slow dogs');
INSERT INTO workspace VALUES (
    CAST('/ws' AS BLOB),
    '{"path":"/ws","context_dirs":["/doc"],"landlock_read":[],"landlock_write":[],"commands_approved":["ls"],"domains_approved":[],"agent":null,"created":1,"last_accessed":2}'
);
