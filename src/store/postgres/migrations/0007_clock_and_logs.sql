-- By how much the gate's time was ahead of the server's clock when the clock showed `since`. One row at most, and none
-- as long as the clock was never set back.
CREATE TABLE clock_lead (
  one   boolean PRIMARY KEY DEFAULT true CHECK (one),
  ahead bigint  NOT NULL,
  since bigint  NOT NULL
);
