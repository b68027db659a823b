CREATE TABLE IF NOT EXISTS products (
  sku text COLLATE "C" PRIMARY KEY,
  name text NOT NULL,
  -- Exact, unlike a floating-point number.
  price numeric(12, 2) NOT NULL CHECK (price >= 0),
  -- Whatever the app does, the stock cannot become negative.
  stock integer NOT NULL CHECK (stock >= 0),
  updated_at timestamptz(3) NOT NULL,
  version text NOT NULL
);
