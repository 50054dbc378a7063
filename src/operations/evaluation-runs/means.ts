import { Scan } from '../../../packages/json/index.ts'
import type { YieldToLoop } from '../../../packages/waiting/index.ts'

/** Paths of which a mean is kept. Further ones are left out, so that no evaluation exhausts the memory. */
const maxPaths = 10_000

/** The numbers at one path of many values; true is 1 and false is 0. */
interface Path {
  sum: number
  count: number
  members: Map<string, Path>
}

interface Means {
  /** Adds the numbers of a value, those inside objects by their names. Lists and texts have no mean. */
  add(name: string, json: string): Promise<void>
  /** The same for each member of an object. */
  addMembers(json: string): Promise<void>
  /** `{"exact":{"score":{"mean":0.6}}}` */
  text(): string
}

export function createMeans(yieldToLoop: YieldToLoop): Means {
  const root = newPath()
  let paths = 0

  function memberOf(path: Path, name: string): Path {
    let member = path.members.get(name)
    if (member === undefined) {
      member = newPath()
      if (paths++ < maxPaths) path.members.set(name, member)
    }
    return member
  }

  /** Walks the value that begins here and returns its end. Its steps are small, however large the value is. */
  function* walk(scan: Scan, at: number, path: Path): Generator<void, number> {
    let end = at
    if (scan.isObject(at)) {
      for (let i = scan.enter(at); i !== -1; i = scan.after(end)) {
        const from = scan.key(i)
        end = yield* walk(scan, from, memberOf(path, scan.name))
      }
      return scan.end
    }
    if (scan.isList(at)) {
      for (let i = scan.enter(at); i !== -1; i = scan.after(end)) {
        end = scan.skip(i)
        yield
      }
      return scan.end
    }
    end = scan.skip(at)
    const number = numberOf(scan.text.slice(at, Math.min(end, at + maxNumberLength)))
    if (number !== undefined) {
      path.sum += number
      path.count++
    }
    yield
    return end
  }

  async function take(json: string, path: Path): Promise<void> {
    const scan = new Scan(json)
    for (const _ of walk(scan, scan.space(0), path)) {
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

function newPath(): Path {
  return { sum: 0, count: 0, members: new Map() }
}

const maxNumberLength = 400

function numberOf(token: string): number | undefined {
  if (token === 'true') return 1
  if (token === 'false') return 0
  const number = /^-?\d/.test(token) ? Number(token) : Number.NaN
  return Number.isFinite(number) ? number : undefined
}

function textOf({ sum, count, members }: Path): string | undefined {
  const texts: string[] = []
  for (const [name, member] of members) {
    const text = textOf(member)
    if (text !== undefined) texts.push(`${JSON.stringify(name)}:${text}`)
  }
  if (count > 0) texts.push(`"mean":${JSON.stringify(sum / count)}`)
  return texts.length > 0 ? `{${texts.join(',')}}` : undefined
}
