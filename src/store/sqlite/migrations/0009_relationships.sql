-- What an agent said of itself when it last reported in, and which of its instances were there lately.
ALTER TABLE relationships ADD COLUMN agent_version TEXT;
-- RFC 8785 text.
ALTER TABLE relationships ADD COLUMN client_capabilities TEXT;
-- RFC 8785 text: pairs of an instance's id and when it was last seen.
ALTER TABLE relationships ADD COLUMN instances TEXT;
