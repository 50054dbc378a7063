import { specified } from './printf.ts'
import { represented, shown } from './printing.ts'
import { isLower, isUpper } from './tests.ts'
import {
  boolean,
  callable,
  type Held,
  isEqual,
  isList,
  isNumber,
  isObject,
  isText,
  keyValue,
  type ListValue,
  list,
  missing,
  none,
  number,
  type ObjectValue,
  object,
  type TextValue,
  text,
  tuple,
} from './values.ts'

/** Methods of Python's values that templates call and the library lacks, or supports only without arguments. */

type Methods<Self> = Record<string, (self: Self, args: Held[]) => Held>

const white = ' \t\n\r\v\f'

/** Removes characters at its ends: those of the argument, or white space. */
export function stripped(self: TextValue, [arg]: Held[], sides: { start: boolean; end: boolean }): Held {
  const { value } = self
  if (arg === undefined || !isText(arg)) {
    return text(sides.start ? (sides.end ? value.trim() : value.trimStart()) : value.trimEnd())
  }
  const characters = new Set(arg.value || white)
  let start = 0
  let end = value.length
  while (sides.start && start < end && characters.has(value[start] as string)) start++
  while (sides.end && end > start && characters.has(value[end - 1] as string)) end--
  return text(value.slice(start, end))
}

/** `{}`, `{0}` and `{name}`, with `!r` and what may stand after a colon. */
function formatted(self: TextValue, args: Held[]): Held {
  const named = args.at(-1)?.type === 'KeywordArgumentsValue' ? (args.at(-1) as ObjectValue).value : new Map()
  let next = 0
  return text(
    self.value.replace(
      /\{\{|\}\}|\{(\w*)(![rsa])?(?::([^{}]*))?\}/g,
      (whole, name?: string, conversion?: string, form = '') => {
        if (name === undefined) return whole.charAt(0)
        const value = name === '' ? args[next++] : /^\d+$/.test(name) ? args[Number(name)] : named.get(name)
        if (value === undefined) throw new Error(`format() has no value for ${whole}`)
        const written =
          conversion === undefined ? value : text(conversion === '!s' ? shown(value) : represented(value))
        return form === '' ? shown(written) : specified(written, form)
      },
    ),
  )
}

/** Around a separator: `first` counts from the start, or from the end. */
function parted(self: TextValue, separator: string, isFromEnd: boolean): Held {
  const at = isFromEnd ? self.value.lastIndexOf(separator) : self.value.indexOf(separator)
  if (at === -1) return tuple((isFromEnd ? ['', '', self.value] : [self.value, '', '']).map(text))
  return tuple([self.value.slice(0, at), separator, self.value.slice(at + separator.length)].map(text))
}

/** The last ones are split first. */
function splitFromEnd(self: TextValue, [delimiter, most]: Held[]): Held {
  const separator = delimiter && isText(delimiter) ? delimiter.value : undefined
  const pieces = separator === undefined ? self.value.trim().split(/\s+/) : self.value.split(separator)
  const count = most && isNumber(most) && most.value >= 0 ? most.value : pieces.length
  const rest = pieces.splice(0, Math.max(1, pieces.length - count))
  return list([rest.join(separator ?? ' '), ...pieces].map(text))
}

const filled = (self: TextValue, [width, filler]: Held[], before: (missing: number) => number): Held => {
  const missing = Math.max(0, Number(width?.value ?? 0) - [...self.value].length)
  const left = before(missing)
  const character = filler === undefined ? ' ' : shown(filler)
  return text(character.repeat(left) + self.value + character.repeat(missing - left))
}

export const capitalized = (word: string) => word.charAt(0).toUpperCase() + word.slice(1).toLowerCase()

const textOf = (value: Held | undefined) => (value === undefined ? '' : shown(value))

const ofTexts: Methods<TextValue> = {
  strip: (self, args) => stripped(self, args, { start: true, end: true }),
  lstrip: (self, args) => stripped(self, args, { start: true, end: false }),
  rstrip: (self, args) => stripped(self, args, { start: false, end: true }),
  format: formatted,
  join: (self, [items]) => text(items && isList(items) ? items.value.map(shown).join(self.value) : ''),
  find: (self, [needle]) => number(self.value.indexOf(textOf(needle))),
  rfind: (self, [needle]) => number(self.value.lastIndexOf(textOf(needle))),
  count: (self, [needle]) => number(self.value.split(textOf(needle)).length - 1),
  index: (self, [needle]) => number(self.value.indexOf(textOf(needle))),
  isdigit: (self) => boolean(/^\d+$/.test(self.value)),
  isnumeric: (self) => boolean(/^\p{N}+$/u.test(self.value)),
  isalpha: (self) => boolean(/^\p{L}+$/u.test(self.value)),
  isalnum: (self) => boolean(/^[\p{L}\p{N}]+$/u.test(self.value)),
  isspace: (self) => boolean(/^\s+$/u.test(self.value)),
  islower: (self) => boolean(isLower(self)),
  isupper: (self) => boolean(isUpper(self)),
  capitalize: (self) => text(capitalized(self.value)),
  partition: (self, [needle]) => parted(self, textOf(needle), false),
  rpartition: (self, [needle]) => parted(self, textOf(needle), true),
  rsplit: splitFromEnd,
  ljust: (self, args) => filled(self, args, () => 0),
  rjust: (self, args) => filled(self, args, (missing) => missing),
  center: (self, args) => filled(self, args, (missing) => Math.floor(missing / 2)),
  zfill: (self, [width]) => filled(self, [width ?? none, text('0')], (missing) => missing),
  removeprefix(self, [arg]) {
    const prefix = textOf(arg)
    return text(self.value.startsWith(prefix) ? self.value.slice(prefix.length) : self.value)
  },
  removesuffix(self, [arg]) {
    const suffix = textOf(arg)
    return text(suffix && self.value.endsWith(suffix) ? self.value.slice(0, -suffix.length) : self.value)
  },
  splitlines: (self) => list(self.value.split(/\r?\n/).map(text)),
}

const ofLists: Methods<ListValue> = {
  append(self, [entry]) {
    self.value.push(entry ?? none)
    return none
  },
  extend(self, [others]) {
    if (others && isList(others)) self.value.push(...others.value)
    return none
  },
  insert(self, [at, entry]) {
    self.value.splice(at && isNumber(at) ? at.value : 0, 0, entry ?? none)
    return none
  },
  pop(self, [at]) {
    const [taken] = self.value.splice(at && isNumber(at) ? at.value : -1, 1)
    if (taken === undefined) throw new Error('pop() of a list without such an entry')
    return taken
  },
  index: (self, [wanted = none]) => number(self.value.findIndex((entry) => isEqual(entry, wanted))),
  count: (self, [wanted = none]) => number(self.value.filter((entry) => isEqual(entry, wanted)).length),
}

const ofObjects: Methods<ObjectValue> = {
  get: (self, [key, otherwise]) => self.value.get(key?.value) ?? otherwise ?? none,
  pop(self, [key, otherwise]) {
    const taken = self.value.get(key?.value) ?? otherwise
    if (taken === undefined) throw new Error(`pop() of a mapping without the key ${textOf(key)}`)
    self.value.delete(key?.value)
    return taken
  },
  update(self, [others]) {
    if (others && isObject(others)) for (const [key, value] of others.value) self.value.set(key, value)
    return none
  },
  setdefault(self, [key, otherwise = none]) {
    if (!self.value.has(key?.value)) self.value.set(key?.value, otherwise)
    return self.value.get(key?.value) ?? missing
  },
  copy: (self) => object(new Map(self.value)),
  items: (self) => list([...self.value].map(([key, member]) => tuple([keyValue(key), member]))),
  keys: (self) => list([...self.value.keys()].map(keyValue)),
  values: (self) => list([...self.value.values()]),
}

/**
 * The method of a value; undefined if the library's own members are to be used. A member of a mapping takes precedence
 * over a method.
 */
export function methodOf(self: Held, name: string): Held | undefined {
  if (isText(self)) return bound(ofTexts, self, name)
  if (isList(self)) return bound(ofLists, self, name)
  if (isObject(self) && !self.value.has(name)) return bound(ofObjects, self, name)
  return undefined
}

function bound<Self>(methods: Methods<Self>, self: Self, name: string): Held | undefined {
  const method = Object.hasOwn(methods, name) ? methods[name] : undefined
  return method && callable((args) => method(self, args))
}
