/** What is added up of some calls. Times are microseconds. */
export interface Figures {
  calls: number
  errors: number
  ended: number
  latency: number
  first_token: number
  input: number
  output: number
  /** NaN if it is not known: sums of older servers lack it. */
  bytes: number
  /** How many calls have a place in the histogram of a time. */
  latencies: Map<number, number>
  first_tokens: Map<number, number>
  /** Calls that used tokens, by their model; the empty text stands for none. */
  usage: Map<string, Usage>
}

type Usage = [
  calls: number,
  input: number,
  output: number,
  cacheRead: number,
  cacheCreation: number,
  /** What clients say that calls cost, in billionths, and the number of these calls. Sums without any lack both. */
  stated?: number,
  statedCalls?: number,
]

const sums = ['errors', 'ended', 'latency', 'first_token', 'input', 'output'] as const
export const figureNames = [...sums, 'bytes'] as const

export function noFigures(calls = 0): Figures {
  return {
    ...{ calls, errors: 0, ended: 0, latency: 0, first_token: 0, input: 0, output: 0, bytes: 0 },
    ...{ latencies: new Map(), first_tokens: new Map(), usage: new Map() },
  }
}

export function addFigures(to: Figures, other: Figures): void {
  to.calls += other.calls
  for (const name of figureNames) to[name] += other[name]
  for (const name of ['latencies', 'first_tokens'] as const) {
    for (const [bin, count] of other[name]) addCount(to[name], bin, count)
  }
  for (const [model, usage] of other.usage) addUsage(to.usage, model, usage)
}

export function addCount(to: Map<number, number>, bin: number, count: number): void {
  to.set(bin, (to.get(bin) ?? 0) + count)
}

export function addUsage(to: Map<string, Usage>, model: string, usage: Usage): void {
  const known = to.get(model)
  const longest = known && known.length > usage.length ? known : usage
  to.set(model, longest.map((_, n) => (known?.[n] ?? 0) + (usage[n] ?? 0)) as Usage)
}

const inOrder = <K extends string | number, V>(map: ReadonlyMap<K, V>) =>
  [...map].sort(([key], [other]) => (key < other ? -1 : 1))

/** The same for the same figures. The number of calls is stored beside it. */
export function figuresText({ latencies, first_tokens, usage, bytes, ...figures }: Figures): string {
  const maps = [inOrder(latencies), inOrder(first_tokens), inOrder(usage)]
  return JSON.stringify([...sums.map((name) => figures[name]), ...maps, bytes])
}

export function figuresIn(calls: number, text: string): Figures {
  const all = JSON.parse(text) as unknown[]
  type Bins = [number, number][]
  const rest = all.slice(sums.length) as [Bins, Bins, [string, Usage][], bytes?: number | null]
  const [latencies, first_tokens, usage, bytes] = rest
  const read = Object.fromEntries(sums.map((name, n) => [name, all[n]])) as Record<
    (typeof sums)[number],
    number
  >
  return {
    ...{ calls, ...read, bytes: bytes ?? Number.NaN },
    ...{ latencies: new Map(latencies), first_tokens: new Map(first_tokens), usage: new Map(usage) },
  }
}
