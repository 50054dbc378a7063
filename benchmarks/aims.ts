import { type Spread, shown, shownSpread, spreadOf, table } from './figures.ts'

export interface Aim {
  name: string
  /** How long an fsync took during the measurement; absent if the figure waits for none. */
  fsyncMs?: number
  /** Whether the aim is a lower or an upper bound of the figure. */
  bound: 'least' | 'most'
  aim: number
  figure: Spread
  reached: boolean
}

export function aimOf(name: string, aim: number, perRound: readonly number[], fsyncMs?: number): Aim {
  const figure = spreadOf(perRound)
  const reached = figure.median >= aim
  return { name, bound: 'least', aim, figure, reached, ...(fsyncMs !== undefined && { fsyncMs }) }
}

/** For figures that should be small. */
export function boundOf(name: string, aim: number, perRound: readonly number[]): Aim {
  const figure = spreadOf(perRound)
  return { name, bound: 'most', aim, figure, reached: figure.median <= aim }
}

export function aimsTable(aims: readonly Aim[]): string {
  const withDisk = aims.some(({ fsyncMs }) => fsyncMs !== undefined)
  const ofDisk = (cell: string) => (withDisk ? [cell] : [])
  return table(
    ['ratio', ...ofDisk('fsync ms'), 'aim', 'figure', 'reached'],
    aims.map(({ name, fsyncMs, bound, aim, figure, reached }) => [
      name,
      ...ofDisk(fsyncMs === undefined ? 'none' : shown(fsyncMs)),
      `${bound === 'least' ? '>=' : '<='} ${aim}`,
      shownSpread(figure),
      reached ? 'yes' : 'no',
    ]),
  )
}
