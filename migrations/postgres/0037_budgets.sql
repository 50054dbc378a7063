-- Budgets in money. Amounts are billionths of a unit of the currency.
CREATE TABLE budgets (
  id TEXT COLLATE "C" PRIMARY KEY,
  scope TEXT COLLATE "C" NOT NULL, -- server, entity, project, user or key
  subject TEXT COLLATE "C" NOT NULL, -- its name or id; empty for the server
  period TEXT COLLATE "C" NOT NULL, -- day or month, in UTC
  currency TEXT COLLATE "C" NOT NULL,
  amount BIGINT NOT NULL,
  warn_at DOUBLE PRECISION, -- a share of the amount
  block_unpriced BIGINT NOT NULL,
  prices_of TEXT, -- the project whose prices count; NULL: the one that an answer belongs to
  created_at BIGINT NOT NULL,
  created_by TEXT NOT NULL,
  UNIQUE (scope, subject, period, currency)
);

-- What was spent in each day or month of a budget.
CREATE TABLE budget_windows (
  budget_id TEXT COLLATE "C" NOT NULL,
  starts_at BIGINT NOT NULL,
  spent BIGINT NOT NULL,
  PRIMARY KEY (budget_id, starts_at)
);

-- What answers that are running may cost at most. What is not renewed is of a server that has ended.
CREATE TABLE budget_holds (
  budget_id TEXT COLLATE "C" NOT NULL,
  starts_at BIGINT NOT NULL,
  id TEXT COLLATE "C" NOT NULL, -- of the answer: it may count for several budgets
  amount BIGINT NOT NULL,
  held_until BIGINT NOT NULL,
  PRIMARY KEY (budget_id, starts_at, id)
);
