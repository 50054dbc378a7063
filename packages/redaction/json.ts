import { Scan, stringEnd } from '../json/index.ts'
import { below, ruleAt, type Steps } from './paths.ts'

/** What happens to the values of a JSON text. */
interface JsonRules {
  /** The same text if there is nothing to replace. `name` is the key whose value it is, or empty. */
  text(text: string, name: string): string
  /** Whether a number, as its digits, is replaced. */
  number(digits: string, name: string): string | undefined
  /** What replaces the value of a path, which is given as JSON. */
  value(rule: NonNullable<ReturnType<typeof ruleAt>>, json: string): string
}

interface Frame {
  isObject: boolean
  steps: Steps
  /** The next index of a list, and the key that it stands at. */
  index: number
  name: string
  /** How often a key was replaced by the same text, so that no two keys are equal. */
  names: Map<string, number> | undefined
}

/** Strings that are JSON are read as JSON: the arguments of a tool call, what a span carries. Not deeper than this. */
const maxNested = 8
const maxLabel = 64

/**
 * Replaces values in a JSON text. All that is not replaced stays as it was written: digits, order, spaces. `steps` are
 * those below the value itself.
 */
export function replacedJson(json: string, steps: Steps, rules: JsonRules, nested = 0): string {
  const scan = new Scan(json)
  let out = ''
  let copied = 0
  const replace = (from: number, to: number, text: string) => {
    out += json.slice(copied, from) + text
    copied = to
  }
  const stack: Frame[] = []
  let at = scan.space(0)
  let own = steps
  let member = ''
  /** The string before, in the same list or object: a pair of a name and a value may be written so. */
  let label = ''
  for (;;) {
    // A value begins here.
    const rule = stack.length > 0 ? ruleAt(own) : undefined
    const code = json.charAt(at)
    if (rule !== undefined) {
      const end = scan.skip(at)
      replace(at, end, rules.value(rule, json.slice(at, end)))
      at = end
    } else if (code === '{' || code === '[') {
      const frame: Frame = { isObject: code === '{', steps: own, index: 0, name: member, names: undefined }
      const first = scan.enter(at)
      if (first !== -1) {
        stack.push(frame)
        label = ''
        at = begin(frame, first)
        continue
      }
      at = scan.end
    } else {
      const end = scan.skip(at)
      const value = code === '"' ? stringAt(at, end) : rules.number(json.slice(at, end), member)
      if (value !== undefined) replace(at, end, value)
      at = end
    }
    // The value has ended, and so may those around it.
    let following = -1
    for (let frame = stack.at(-1); frame !== undefined; frame = stack.at(-1)) {
      following = scan.after(at)
      if (following !== -1) {
        at = begin(frame, following)
        break
      }
      stack.pop()
      at = scan.end
    }
    if (following === -1) return copied === 0 ? json : out + json.slice(copied)
  }

  /** Reads the key of a member, and returns where the value begins. */
  function begin(frame: Frame, from: number): number {
    if (!frame.isObject) {
      own = below(frame.steps, String(frame.index++))
      member = frame.name
      return from
    }
    const end = stringEnd(json, from)
    const value = scan.key(from)
    const { name } = scan
    own = below(frame.steps, name)
    member = name
    const key = rules.text(name, '')
    if (key !== name) {
      frame.names ??= new Map()
      const count = (frame.names.get(key) ?? 0) + 1
      frame.names.set(key, count)
      replace(from, end, JSON.stringify(count === 1 ? key : `${key} ${count}`))
    }
    return value
  }

  function stringAt(from: number, end: number): string | undefined {
    const raw = json.slice(from + 1, end - 1)
    const text = raw.includes('\\') ? (JSON.parse(json.slice(from, end)) as string) : raw
    const isPaired = label !== '' && (member === 'value' || stack.at(-1)?.isObject === false)
    const changed = isJson(text) ? nestedJson(text) : rules.text(text, isPaired ? label : member)
    label = text.slice(-maxLabel)
    return changed === text ? undefined : JSON.stringify(changed)
  }

  function nestedJson(text: string): string {
    // What is nested even deeper is a text: its escapes are no longer read, but nothing of it is left out.
    return nested < maxNested ? replacedJson(text, own, rules, nested + 1) : rules.text(text, '')
  }
}

function isJson(text: string): boolean {
  if (!/^\s*[[{]/.test(text)) return false
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
