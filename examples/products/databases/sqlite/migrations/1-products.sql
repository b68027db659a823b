CREATE TABLE IF NOT EXISTS products (
  sku TEXT NOT NULL PRIMARY KEY,
  name TEXT NOT NULL,
  -- Exact, unlike a floating-point number. SQLite has no decimals.
  price TEXT NOT NULL CHECK (CAST(price AS REAL) >= 0),
  -- Whatever the app does, the stock cannot become negative.
  stock INTEGER NOT NULL CHECK (stock >= 0),
  updated_at TEXT NOT NULL,
  version TEXT NOT NULL
) STRICT;
