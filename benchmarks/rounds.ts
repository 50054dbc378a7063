import type { Contestant, Name } from './contestants.ts'
import { shown, shownSpread, spreadOf, table } from './figures.ts'
import { drive, type Requests, type Round } from './load.ts'

export interface Plan {
  rounds: number
  seconds: number
  warmUp: number
  connections: readonly number[]
}

export interface Series {
  name: Name
  connections: number
  rounds: Round[]
}

/** The requests to one server in the rounds. */
export interface Lane {
  contestant: Contestant
  requests: Requests
  /** Runs before each round and is not counted. */
  ready?(seconds: number): Promise<void>
}

/** A B C, C B A, A B C: each round of one is next to a round of the others. */
export async function alternate(
  lanes: readonly Lane[],
  plan: Plan,
  acknowledge: (lane: Lane, writes: number) => void = () => {},
): Promise<Series[]> {
  const one = async (lane: Lane, connections: number, seconds: number) => {
    const { contestant, requests } = lane
    await lane.ready?.(seconds)
    const round = await drive(contestant, { requests, connections, seconds })
    if (round.failed > 0) throw new Error(`${contestant.name}, ${requests[0]?.path}: ${round.failures}`)
    acknowledge(lane, round.acknowledged)
    return round
  }
  for (const lane of lanes) await one(lane, 16, plan.warmUp)
  const all: Series[] = plan.connections.flatMap((connections) =>
    lanes.map(({ contestant }) => ({ name: contestant.name, connections, rounds: [] })),
  )
  for (let i = 0; i < plan.rounds; i++) {
    for (const connections of plan.connections) {
      for (const lane of i % 2 === 0 ? lanes : lanes.toReversed()) {
        roundsOf(all, connections, lane.contestant.name).push(await one(lane, connections, plan.seconds))
      }
    }
  }
  return all
}

function roundsOf(all: readonly Series[], connections: number, name: Name): Round[] {
  return all.find((one) => one.name === name && one.connections === connections)?.rounds ?? []
}

/** Compared round by round, because neighbouring rounds ran under the same load. */
export function ratios(all: readonly Series[], connections: number, name: Name, other: Name): number[] {
  const others = roundsOf(all, connections, other)
  return roundsOf(all, connections, name).map(
    ({ perSecond }, i) => perSecond / (others[i]?.perSecond ?? Number.NaN),
  )
}

/** The processor time of the main thread for a request, as a share of the other server's. */
export function workRatios(all: readonly Series[], connections: number, name: Name, other: Name): number[] {
  const others = roundsOf(all, connections, other)
  return roundsOf(all, connections, name).map(
    ({ work }, i) => (work?.main ?? Number.NaN) / (others[i]?.work?.main ?? Number.NaN),
  )
}

export function tableOf(all: readonly Series[], beside: Name): string {
  const cells = all.map(({ name, connections, rounds }) => {
    const spread = (pick: (round: Round) => number | undefined) =>
      spreadOf(rounds.map((round) => pick(round) ?? Number.NaN))
    return [
      name,
      String(connections),
      shownSpread(spread((round) => round.perSecond)),
      shown(spread((round) => round.p50).median),
      shown(spread((round) => round.p99).median),
      shown(spread((round) => round.work?.main).median),
      shown(spread((round) => round.work?.all).median),
      shown(spread((round) => (round.busy ?? Number.NaN) * 100).median),
      name === beside ? '1' : shownSpread(spreadOf(ratios(all, connections, name, beside))),
    ]
  })
  return table(
    [
      'server',
      'conn.',
      'requests/s',
      'p50 ms',
      'p99 ms',
      'main us/req',
      'all us/req',
      'main busy %',
      `of ${beside}`,
    ],
    cells,
  )
}
