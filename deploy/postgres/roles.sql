-- Creates the database and its two roles; run it once, as a superuser, with psql:
--   psql -v owner_password=... -v server_password=... -f roles.sql
-- The owner runs migrations. The server owns nothing, so that row-level security applies to it.
CREATE ROLE asyncgate_owner LOGIN PASSWORD :'owner_password' NOSUPERUSER NOBYPASSRLS;
CREATE ROLE asyncgate_server LOGIN PASSWORD :'server_password' NOSUPERUSER NOBYPASSRLS;
CREATE DATABASE asyncgate OWNER asyncgate_owner;
\connect asyncgate
GRANT USAGE ON SCHEMA public TO asyncgate_server;
ALTER DEFAULT PRIVILEGES FOR ROLE asyncgate_owner IN SCHEMA public
  GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO asyncgate_server;
ALTER DEFAULT PRIVILEGES FOR ROLE asyncgate_owner IN SCHEMA public
  GRANT USAGE ON SEQUENCES TO asyncgate_server;
