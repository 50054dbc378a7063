import { type CompiledTemplate, Environment, Interpreter, type Node, type Value } from './jinja.ts'
import { strftime } from './strftime.ts'

export interface Bounds {
  /** Processor time for one rendering. */
  limitMs: number
  /** Characters of any text that comes up, the whole prompt included. */
  longestText: number
  /** Entries of any list. */
  longestList: number
}

/** The template wants more than anyone may have. */
export class TooCostly extends Error {
  readonly limit: string

  constructor(limit: string) {
    super(`more than ${limit}`)
    this.limit = limit
  }
}

/** What `range` makes at most, as in the sandbox of Jinja itself. */
const longestRange = 100_000

/** Between two looks at the processor time, which cost more than one at the clock. */
const betweenLooksMs = 5

/**
 * Templates are programs, and those of a request are a stranger's. Every value passes by here, so what doubles is stopped
 * when it is twice too large; what gets past is stopped by the end of this process.
 */
class BoundedInterpreter extends Interpreter {
  readonly #bounds: Bounds
  readonly #since = process.cpuUsage()
  #looked = performance.now()

  constructor(environment: Environment, bounds: Bounds) {
    super(environment)
    this.#bounds = bounds
  }

  override evaluate(node: Node, environment: Environment): Value {
    const now = performance.now()
    if (now - this.#looked > betweenLooksMs) {
      this.#looked = now
      this.#lookAtTime()
    }
    const value = super.evaluate(node, environment)
    // The filter `first` of an empty list gives nothing at all.
    const inner = value?.value
    const { longestText, longestList } = this.#bounds
    if (typeof inner === 'string' && inner.length > longestText) {
      throw new TooCostly(`${longestText} characters`)
    }
    if (Array.isArray(inner) && inner.length > longestList)
      throw new TooCostly(`${longestList} entries of a list`)
    return value
  }

  #lookAtTime(): void {
    const { user, system } = process.cpuUsage(this.#since)
    if ((user + system) / 1000 > this.#bounds.limitMs) throw new TooCostly(`${this.#bounds.limitMs} ms`)
  }
}

function range(start: number, end?: number, step = 1): number[] {
  const [from, to] = end === undefined ? [0, start] : [start, end]
  if (!(Math.abs(step) >= 1)) throw new Error('range() takes a step that is not zero')
  const length = Math.max(0, Math.ceil((to - from) / step))
  if (length > longestRange) throw new TooCostly(`${longestRange} entries of range()`)
  return Array.from({ length }, (_, index) => from + index * step)
}

const builtIn = {
  true: true,
  True: true,
  false: false,
  False: false,
  none: null,
  None: null,
  range,
  strftime_now: (format: string) => strftime(new Date(), String(format)),
  raise_exception(message: unknown) {
    throw new Error(String(message ?? '') || 'it raises an exception and does not say why')
  },
}

/** Throws TooCostly, or whatever the template itself raises. */
export function renderBounded(
  template: CompiledTemplate,
  variables: Record<string, unknown>,
  bounds: Bounds,
): string {
  const environment = new Environment()
  for (const [name, value] of Object.entries({ ...builtIn, ...variables })) {
    // A name that is set twice is an error of the library, and it knows one itself.
    if (name !== 'namespace') environment.set(name, value)
  }
  return String(new BoundedInterpreter(environment, bounds).run(template.parsed)?.value)
}
