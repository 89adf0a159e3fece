-- The hash of what a question asks and of everything that the worker will get; null for questions that are older.
ALTER TABLE questions ADD COLUMN content_hash text;
