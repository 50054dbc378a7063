import { Scan } from '../../domain/json/scan.ts'
import type { YieldToLoop } from '../../domain/yielding.ts'

/** Places of which a mean is kept. Beyond that new ones are passed by, so that no evaluation fills the memory. */
const mostPlaces = 10_000

/** Of the numbers at one place of many values; true is 1 and false is 0. */
interface Place {
  sum: number
  count: number
  members: Map<string, Place>
}

export interface Means {
  /** Counts the numbers of a value, those inside objects by their names; lists and texts have no mean. */
  add(name: string, json: string): Promise<void>
  /** The same for each member of an object. */
  addMembers(json: string): Promise<void>
  /** `{"judge":{"score":{"mean":0.6}}}` */
  text(): string
}

export function createMeans(yieldToLoop: YieldToLoop): Means {
  const root = newPlace()
  let places = 0

  function memberOf(place: Place, name: string): Place {
    let member = place.members.get(name)
    if (member === undefined) {
      member = newPlace()
      if (places++ < mostPlaces) place.members.set(name, member)
    }
    return member
  }

  /** Walks the value that begins here and answers where it ends. Its steps are small, whatever the value is. */
  function* walk(scan: Scan, at: number, place: Place): Generator<void, number> {
    let end = at
    if (scan.isObject(at)) {
      for (let i = scan.enter(at, 1); i !== -1; i = scan.after(end)) {
        const from = scan.key(i)
        end = yield* walk(scan, from, memberOf(place, scan.name))
      }
      return scan.end
    }
    if (scan.isList(at)) {
      for (let i = scan.enter(at, 1); i !== -1; i = scan.after(end)) {
        end = scan.skip(i, 1)
        yield
      }
      return scan.end
    }
    end = scan.skip(at, 1)
    const number = numberOf(scan.text.slice(at, Math.min(end, at + longestNumber)))
    if (number !== undefined) {
      place.sum += number
      place.count++
    }
    yield
    return end
  }

  async function take(json: string, place: Place): Promise<void> {
    const scan = new Scan(json)
    for (const _ of walk(scan, scan.space(0), place)) {
      const pause = yieldToLoop()
      if (pause) await pause
    }
  }

  return {
    add: (name, json) => take(json, memberOf(root, name)),
    addMembers: async (json) => {
      if (json.startsWith('{')) await take(json, root)
    },
    text: () => textOf(root) ?? '{}',
  }
}

function newPlace(): Place {
  return { sum: 0, count: 0, members: new Map() }
}

const longestNumber = 400

function numberOf(token: string): number | undefined {
  if (token === 'true') return 1
  if (token === 'false') return 0
  const number = /^-?\d/.test(token) ? Number(token) : Number.NaN
  return Number.isFinite(number) ? number : undefined
}

function textOf({ sum, count, members }: Place): string | undefined {
  const texts: string[] = []
  for (const [name, member] of members) {
    const text = textOf(member)
    if (text !== undefined) texts.push(`${JSON.stringify(name)}:${text}`)
  }
  if (count > 0) texts.push(`"mean":${JSON.stringify(sum / count)}`)
  return texts.length > 0 ? `{${texts.join(',')}}` : undefined
}
