/** What all parts of `chat.ts` receive: the model, and how long to measure. */
export interface Measured {
  name: string
  title: string
  /** As in HEDDLE_MODEL. */
  source: string
  rounds: number
  /** Per answer. */
  tokens: number
  temperature: number
  /** Whether there is time for this round. The first always runs. */
  isToRun(round: number, most: number): boolean
}

let asked = 0

/** Each begins with tokens that no earlier prompt began with, so that nothing can be reused. */
export function promptsOf(count: number, length: number): number[][] {
  return Array.from({ length: count }, () => {
    const salt = asked++
    return Array.from({ length }, (_, i) =>
      i === 0 ? 300 + (salt % 1000) : i === 1 ? 300 + Math.floor(salt / 1000) : 300 + ((31 * i) % 1100),
    )
  })
}

/** A B, then B A, and so on. */
export function inTurn<Value>(all: readonly Value[], round: number): readonly Value[] {
  return round % 2 === 0 ? all : all.toReversed()
}

/** Figures relative to those of another contestant, round by round. */
export function beside(own: readonly number[], other: readonly number[]): number[] {
  return own.slice(0, other.length).map((figure, round) => figure / (other[round] ?? Number.NaN))
}
