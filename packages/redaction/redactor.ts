import { createHmac } from 'node:crypto'
import { replacedJson } from './json.ts'
import { findKeys, findPrivateKeys, findTokens } from './keys.ts'
import { secretName } from './named.ts'
import { below, noSteps, type PathRule, ruleAt, stepsOf } from './paths.ts'
import { findCards, findEmails, findIbans, findPhones, phoneName } from './people.ts'
import { type Finder, inAscii, type Span, withoutSpans } from './spans.ts'

const finders = {
  email: findEmails,
  phone: findPhones,
  card: findCards,
  iban: findIbans,
  key: findKeys,
  token: findTokens,
  private_key: findPrivateKeys,
} as const satisfies Record<string, Finder>

/** What is known to be private by its form. */
export type Kind = keyof typeof finders
export const kinds = Object.keys(finders) as Kind[]

/** What is replaced before it is stored. */
export interface Redaction {
  kinds?: readonly Kind[] | undefined
  /** Regular expressions, and the name that replaces what they match. */
  patterns?: readonly { name: string; pattern: string }[] | undefined
  paths?: readonly PathRule[] | undefined
}

export interface Redactor {
  /** The same text if there is nothing to replace. */
  text(text: string): string
  /** The same for JSON. `root` is the first name of the paths that lead into it. */
  json(json: string, root: string): string
  /** How often each kind was replaced since the last call. */
  counts(): Record<string, number>
}

interface RedactorParts extends Redaction {
  /** Makes hashes that nobody can guess values by. */
  secret: string
  /** Those of the patterns. */
  own?: readonly { name: string; find: Finder }[]
}

/** An address such as a@b.co. */
const shortestKind = 6
const hashDigits = 16
/** Where an answer says its text once more, token by token. What spells the prompt goes whenever it is there. */
const ofPrompts = ['prompt_token_ids', 'prompt_logprobs']
const spelled = ['logprobs', 'token_ids', ...ofPrompts]
const spelling = (names: readonly string[]) =>
  stepsOf(names.map((name) => ({ path: `**.${name}`, action: 'drop' as const })))
const spellingPrompts = spelling(ofPrompts)
const spellingAnswers = spelling(spelled)

/** What stands for a value that is dropped. */
const dropped = '[dropped]'
/** What was replaced before, such as by an earlier try of the same write. */
const alreadyReplaced = /^(?:\{"redacted":)?"\[(?:dropped|hash:[0-9a-f]{16})\]"\}?$/

export function createRedactor({
  kinds: chosen = [],
  own = [],
  paths = [],
  secret,
}: RedactorParts): Redactor {
  const known = chosen.map((name) => ({ name: name as string, find: finders[name] as Finder }))
  const steps = stepsOf(paths)
  let counts: Record<string, number> = {}
  const count = (kind: string) => {
    counts[kind] = (counts[kind] ?? 0) + 1
  }
  /** Nothing that is shorter can be found. */
  const minLength = own.length > 0 ? 1 : shortestKind
  const hasCards = chosen.includes('card')

  function spansOf(text: string): Span[] {
    const spans: Span[] = []
    const search = (list: typeof own, searched: string) => {
      for (const { name, find } of list) find(searched, (from, to) => spans.push({ kind: name, from, to }))
    }
    if (known.length > 0) search(known, inAscii(text))
    search(own, text)
    return spans
  }

  function text(value: string): string {
    if (value.length < minLength) return value
    const spans = spansOf(value)
    return spans.length === 0 ? value : withoutSpans(value, spans, count)
  }

  const hashOf = (value: string) =>
    `[hash:${createHmac('sha256', secret).update(value).digest('hex').slice(0, hashDigits)}]`

  function replacing({ action }: PathRule, json: string): string {
    count(action === 'drop' ? 'dropped' : 'hashed')
    if (action === 'drop') return dropped
    return hashOf(json.startsWith('"') ? (JSON.parse(json) as string) : json)
  }

  /** Some keys and numbers are known only by the name that is before them. */
  function named(value: string, name: string): string {
    const before = `${name}="`
    const changed = secretName.test(name) || phoneName.test(name) ? text(`${before}${value}"`) : ''
    return changed.startsWith(before) ? changed.slice(before.length).replace(/"$/, '') : text(value)
  }

  const rules = {
    text: named,
    number(digits: string, name: string): string | undefined {
      const isPhone = phoneName.test(name) && /^\d{7,15}$/.test(digits)
      if (!isPhone && !(hasCards && /^\d{14,16}$/.test(digits))) return undefined
      const changed = named(digits, name)
      return changed === digits ? undefined : JSON.stringify(changed)
    },
    value: (rule: PathRule, json: string) =>
      alreadyReplaced.test(json) ? json : JSON.stringify(replacing(rule, json)),
  }

  /** An answer without what spells it, if something was replaced in it. */
  function withoutSpelling(json: string, isChanged: boolean): string {
    const names = isChanged ? spelled : ofPrompts
    if (known.length + own.length === 0 || !names.some((name) => json.includes(name))) return json
    return replacedJson(json, isChanged ? spellingAnswers : spellingPrompts, {
      text: (value) => value,
      number: () => undefined,
      value: (_, value) => (value.startsWith('[') ? '[]' : 'null'),
    })
  }

  function replaced(json: string, root: string): string {
    const inside = steps.length === 0 ? noSteps : below(steps, root)
    const whole = ruleAt(inside)
    if (whole !== undefined) {
      if (alreadyReplaced.test(json)) return json
      const value = replacing(whole, json)
      return JSON.stringify(json.startsWith('{') ? { redacted: value } : value)
    }
    // The bytes as they are show nearly always that there is nothing to find: only a letter written by its number and an
    // escaped slash hide there, and a pattern may mean the end of a string.
    const hides = own.length > 0 || json.includes('\\u') || json.includes('\\/')
    if (inside.length === 0 && !hides && spansOf(json).length === 0) return json
    return replacedJson(json, inside, rules)
  }

  return {
    text,
    json(json, root) {
      const changed = replaced(json, root)
      return root === 'output' ? withoutSpelling(changed, changed !== json) : changed
    },
    counts() {
      const taken = counts
      counts = {}
      return taken
    },
  }
}
