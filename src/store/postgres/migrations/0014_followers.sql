-- Servers that follow the changes of others, each until that time on the server's clock. Changes are only put into
-- notifications while another server follows.
CREATE TABLE followers (
  server text   COLLATE "C" PRIMARY KEY,
  until  bigint NOT NULL
);
