CREATE TABLE IF NOT EXISTS products (
  sku VARCHAR(50) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
  name VARCHAR(200) CHARACTER SET utf8mb4 NOT NULL,
  -- Exact, unlike a floating-point number.
  price DECIMAL(12, 2) NOT NULL CHECK (price >= 0),
  -- Whatever the app does, the stock cannot become negative.
  stock INT NOT NULL CHECK (stock >= 0),
  updated_at DATETIME(3) NOT NULL,
  version VARCHAR(40) CHARACTER SET ascii COLLATE ascii_bin NOT NULL
) ENGINE=InnoDB;
