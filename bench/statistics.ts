export interface Spread {
  median: number
  low: number
  high: number
}

function quantile (sorted: number[], share: number) {
  const place = (sorted.length - 1) * share
  const low = sorted[Math.floor(place)]!
  return low + (sorted[Math.ceil(place)]! - low) * (place - Math.floor(place))
}

/** The median between the quartiles. */
export function spread (values: number[]): Spread {
  const sorted = values.toSorted((one, other) => one - other)
  return { median: quantile(sorted, 0.5), low: quantile(sorted, 0.25), high: quantile(sorted, 0.75) }
}

/** Round by round, so that a disturbance of a whole round does not count. */
export function ratio (values: number[], base: number[]): Spread {
  return spread(values.map((value, round) => value / base[round]!))
}
