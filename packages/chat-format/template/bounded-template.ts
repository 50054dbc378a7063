import { Environment, type Node, type Value } from '../jinja/jinja.ts'
import { PythonInterpreter } from '../jinja/python.ts'
import { callable, heldOf, isObject, object } from '../jinja/values.ts'

export interface Bounds {
  /** Processor time for one rendering. */
  limitMs: number
  /** Characters of any text, the whole prompt included. */
  maxTextLength: number
  /** Entries of any list. */
  maxListLength: number
}

/** A template takes more than it may. */
export class TemplateLimitError extends Error {
  override readonly name = 'TemplateLimitError'
  readonly limit: string

  constructor(limit: string) {
    super(`it takes more than ${limit}`)
    this.limit = limit
  }
}

/** The most entries of `range()`, as in Jinja's own sandbox. */
const maxRangeLength = 100_000

/** Reading the processor time costs more than reading the clock, so it is read only this often. */
const betweenChecksMs = 5

/**
 * Templates are programs, and those in a request are untrusted. Every value of a template passes through `evaluate`, so
 * a text that keeps doubling is stopped at twice its limit at most. Whatever gets past these checks is stopped by
 * killing this process.
 */
class BoundedInterpreter extends PythonInterpreter {
  readonly #bounds: Bounds
  readonly #since = process.cpuUsage()
  #checkedAt = performance.now()

  constructor(environment: Environment, bounds: Bounds) {
    super(environment)
    this.#bounds = bounds
  }

  override evaluate(node: Node | undefined, environment: Environment): Value {
    const { limitMs, maxTextLength, maxListLength } = this.#bounds
    const now = performance.now()
    if (now - this.#checkedAt > betweenChecksMs) {
      this.#checkedAt = now
      const { user, system } = process.cpuUsage(this.#since)
      if ((user + system) / 1000 > limitMs) throw new TemplateLimitError(`${limitMs} ms`)
    }
    const value = super.evaluate(node, environment)
    // The filter `first` of an empty list returns undefined.
    const inner = value?.value
    if (typeof inner === 'string' && inner.length > maxTextLength) {
      throw new TemplateLimitError(`${maxTextLength} characters`)
    }
    if (Array.isArray(inner) && inner.length > maxListLength)
      throw new TemplateLimitError(`${maxListLength} entries of a list`)
    return value
  }
}

function range(start: number, end?: number, step = 1): number[] {
  const [from, to] = end === undefined ? [0, start] : [start, end]
  if (!(Math.abs(step) >= 1)) throw new Error('range() needs a step that is not zero')
  const length = Math.max(0, Math.ceil((to - from) / step))
  if (length > maxRangeLength) throw new TemplateLimitError(`${maxRangeLength} entries of range()`)
  return Array.from({ length }, (_, index) => from + index * step)
}

const english = (date: Date, form: Intl.DateTimeFormatOptions) => date.toLocaleString('en-US', form)
const two = (number: number) => String(number).padStart(2, '0')

const directives: Record<string, (date: Date) => string> = {
  Y: (date) => String(date.getFullYear()),
  y: (date) => two(date.getFullYear() % 100),
  m: (date) => two(date.getMonth() + 1),
  d: (date) => two(date.getDate()),
  B: (date) => english(date, { month: 'long' }),
  b: (date) => english(date, { month: 'short' }),
  A: (date) => english(date, { weekday: 'long' }),
  a: (date) => english(date, { weekday: 'short' }),
  H: (date) => two(date.getHours()),
  I: (date) => two(date.getHours() % 12 || 12),
  M: (date) => two(date.getMinutes()),
  S: (date) => two(date.getSeconds()),
  p: (date) => (date.getHours() < 12 ? 'AM' : 'PM'),
  '%': () => '%',
}

/** Like Python's function of this name, with the directives that templates use. */
export function strftime(date: Date, format: string): string {
  return format.replace(/%(.)/g, (whole, name: string) => directives[name]?.(date) ?? whole)
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
    throw new Error(String(message ?? '') || 'it raises an exception without a message')
  },
}

/** Called with a mapping, with members by name, or with both. */
const dict = callable((args) => object(new Map(args.filter(isObject).flatMap(({ value }) => [...value]))))

/** Throws TemplateLimitError, or the error that the template raises. */
export function renderBounded(program: Node, variables: Record<string, unknown>, bounds: Bounds): string {
  const environment = new Environment()
  for (const [name, value] of Object.entries(builtIn)) environment.set(name, value)
  environment.setVariable('dict', dict)
  for (const [name, value] of Object.entries(variables)) {
    // A name of the library.
    if (name !== 'namespace') environment.setVariable(name, heldOf(value))
  }
  return String(new BoundedInterpreter(environment, bounds).run(program)?.value)
}
