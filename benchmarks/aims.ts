import { type Spread, shown, shownSpread, spreadOf, table } from './figures.ts'

export interface Aim {
  name: string
  /** What an fsync took where this was measured; absent where none is waited for. */
  fsyncMs?: number
  aim: number
  figure: Spread
  reached: boolean
}

export function aimOf(name: string, aim: number, perRound: readonly number[], fsyncMs?: number): Aim {
  const figure = spreadOf(perRound)
  return { name, aim, figure, reached: figure.median >= aim, ...(fsyncMs !== undefined && { fsyncMs }) }
}

export function aimsTable(aims: readonly Aim[]): string {
  return table(
    ['ratio', 'fsync ms', 'aim', 'figure', 'reached'],
    aims.map(({ name, fsyncMs, aim, figure, reached }) => [
      name,
      fsyncMs === undefined ? 'none' : shown(fsyncMs),
      `>= ${aim}`,
      shownSpread(figure),
      reached ? 'yes' : 'no',
    ]),
  )
}
