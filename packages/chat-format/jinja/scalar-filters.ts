import { argument, type Filter, type Given } from './filter.ts'
import { capitalized, stripped } from './methods.ts'
import { printed } from './printf.ts'
import { jsonOf, plainForm, shown } from './printing.ts'
import {
  converted,
  entriesOf,
  float,
  isFloat,
  isNumber,
  isNumeric,
  isText,
  isTrue,
  missing,
  number,
  text,
} from './values.ts'

/** Filters of texts, numbers and any value. */
export const scalarFilters: Record<string, Filter> = {
  string: (value) => text(shown(value)),
  tojson: (value, args) => text(jsonOf(value, formOf(args))),
  from_json: (value) => (isText(value) ? converted(value.value) : undefined),
  format: (value, { positional, named }) => printed(shown(value), positional, named),
  trim: (value, { positional }) =>
    isText(value) && positional.length > 0
      ? stripped(value, positional, { start: true, end: true })
      : text(shown(value).trim()),
  upper: (value) => text(shown(value).toUpperCase()),
  lower: (value) => text(shown(value).toLowerCase()),
  capitalize: (value) => text(capitalized(shown(value))),
  title: (value) => text(shown(value).replace(/[^-\s({[<]+/gu, capitalized)),
  abs: (value) =>
    isFloat(value) ? float(Math.abs(Number(value.value))) : number(Math.abs(Number(value.value))),
  int(value, args) {
    const otherwise = argument(args, 0, 'default') ?? number(0)
    if (isNumber(value) && !isFloat(value)) return value
    if (isNumeric(value)) return number(Math.trunc(Number(value.value)))
    if (!isText(value)) return otherwise
    const base = Number(argument(args, 1, 'base')?.value ?? 10)
    if (base !== 10) {
      const parsed = Number.parseInt(value.value, base)
      return Number.isNaN(parsed) ? otherwise : number(parsed)
    }
    const parsed = numberOf(value.value)
    return parsed === undefined ? otherwise : number(Math.trunc(parsed))
  },
  float(value, args) {
    const parsed = isText(value) ? numberOf(value.value) : isNumeric(value) ? Number(value.value) : undefined
    return parsed === undefined ? (argument(args, 0, 'default') ?? float(0)) : float(parsed)
  },
  round(value, args) {
    if (!isNumeric(value)) return undefined
    const scale = 10 ** Number(argument(args, 0, 'precision')?.value ?? 0)
    const method = shown(argument(args, 1, 'method') ?? missing)
    const scaled = Number(value.value) * scale
    const rounded =
      method === 'ceil' ? Math.ceil(scaled) : method === 'floor' ? Math.floor(scaled) : toEven(scaled)
    return isFloat(value) || method !== '' ? float(rounded / scale) : number(rounded / scale)
  },
  indent(value, args) {
    const width = argument(args, 0, 'width') ?? number(4)
    const space = isText(width) ? width.value : ' '.repeat(Math.max(0, Number(width.value)))
    const [isFirst, isBlank] = [argument(args, 1, 'first'), argument(args, 2, 'blank')].map(
      (flag) => flag !== undefined && isTrue(flag),
    )
    const lines = shown(value).split(/\r?\n/)
    return text(
      lines
        .map((line, at) =>
          (at === 0 && !isFirst) || (at > 0 && line === '' && !isBlank) ? line : space + line,
        )
        .join('\n'),
    )
  },
  wordcount: (value) => number(shown(value).match(/\w+/gu)?.length ?? 0),
  e: (value) => text(escaped(shown(value))),
  escape: (value) => text(escaped(shown(value))),
}

function numberOf(written: string): number | undefined {
  const digits = written.trim().replace(/(?<=\d)_(?=\d)/g, '')
  return /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i.test(digits) ? Number(digits) : undefined
}

/** Halves go to the even neighbour. */
function toEven(value: number): number {
  const below = Math.floor(value)
  if (value - below !== 0.5) return Math.round(value)
  return below % 2 === 0 ? below : below + 1
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  "'": '&#39;',
  '"': '&#34;',
}

const escaped = (raw: string) => raw.replace(/[&<>'"]/g, (character) => entities[character] as string)

function formOf(args: Given) {
  const indent = argument(args, 1, 'indent')
  const isIndented = indent !== undefined && isNumeric(indent)
  const [item, key] = entriesOf(args.named.get('separators') ?? missing) ?? []
  return {
    ...plainForm,
    isAscii: isTrue(argument(args, 0, 'ensure_ascii') ?? missing),
    indent: isIndented ? Number(indent.value) : null,
    separators: [item ? shown(item) : isIndented ? ',' : ', ', key ? shown(key) : ': '] as [string, string],
    sortsKeys: isTrue(argument(args, 3, 'sort_keys') ?? missing),
  }
}
