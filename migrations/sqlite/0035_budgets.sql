-- Budgets in money. Amounts are billionths of a unit of the currency.
CREATE TABLE budgets (
  id TEXT PRIMARY KEY,
  scope TEXT NOT NULL, -- server, entity, project, user or key
  subject TEXT NOT NULL, -- its name or id; empty for the server
  period TEXT NOT NULL, -- day or month, in UTC
  currency TEXT NOT NULL,
  amount BIGINT NOT NULL,
  warn_at REAL, -- a share of the amount
  block_unpriced BIGINT NOT NULL,
  prices_of TEXT, -- the project whose prices count; NULL: the one that an answer belongs to
  created_at BIGINT NOT NULL,
  created_by TEXT NOT NULL,
  UNIQUE (scope, subject, period, currency)
) WITHOUT ROWID;

-- What was spent in each day or month of a budget.
CREATE TABLE budget_windows (
  budget_id TEXT NOT NULL,
  starts_at BIGINT NOT NULL,
  spent BIGINT NOT NULL,
  PRIMARY KEY (budget_id, starts_at)
) WITHOUT ROWID;

-- What answers that are running may cost at most. What is not renewed is of a server that has ended.
CREATE TABLE budget_holds (
  budget_id TEXT NOT NULL,
  starts_at BIGINT NOT NULL,
  id TEXT NOT NULL, -- of the answer: it may count for several budgets
  amount BIGINT NOT NULL,
  held_until BIGINT NOT NULL,
  PRIMARY KEY (budget_id, starts_at, id)
) WITHOUT ROWID;
