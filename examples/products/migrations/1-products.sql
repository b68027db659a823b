CREATE TABLE IF NOT EXISTS products (
  sku text COLLATE "C" PRIMARY KEY,
  name text NOT NULL,
  -- Exact: money is no floating-point number.
  price numeric(12, 2) NOT NULL CHECK (price >= 0),
  -- The last line of defence: whatever an app does, it cannot sell what is not there.
  stock integer NOT NULL CHECK (stock >= 0),
  updated_at timestamptz(3) NOT NULL,
  version text NOT NULL
);
