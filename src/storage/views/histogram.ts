/** Four buckets per octave of milliseconds; everything longer than nine hours is in the last one. */
export const histogramSize = 101

/** The place of a time in microseconds, in SQL. */
export const binOf = (micros: string) =>
  `CASE WHEN ${micros} < 1000 THEN 0
    WHEN ${micros} >= 33554432000 THEN ${histogramSize - 1}
    ELSE CAST(floor(ln(CAST(${micros} AS DOUBLE PRECISION) / 1000) * 5.770780163555854) AS INTEGER) END`

/** What no time in microseconds in this place exceeds. */
export const maxInBin = (bin: number): number =>
  bin === histogramSize - 1 ? Infinity : Math.ceil(Math.exp((bin + 1.001) / 5.770780163555854) * 1000)
