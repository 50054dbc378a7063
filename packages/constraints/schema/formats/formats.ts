import type { Format } from './format.ts'
import { ofLibraries } from './library-formats.ts'

const byte = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)'
const ipv4 = `(?:${byte}\\.){3}${byte}`
const group = '[0-9A-Fa-f]{1,4}'
const lastGroups = `(?:${group}:${group}|${ipv4})`
const ipv6 = [
  `(?:${group}:){6}${lastGroups}`,
  `::(?:${group}:){5}${lastGroups}`,
  `(?:${group})?::(?:${group}:){4}${lastGroups}`,
  `(?:(?:${group}:){0,1}${group})?::(?:${group}:){3}${lastGroups}`,
  `(?:(?:${group}:){0,2}${group})?::(?:${group}:){2}${lastGroups}`,
  `(?:(?:${group}:){0,3}${group})?::${group}:${lastGroups}`,
  `(?:(?:${group}:){0,4}${group})?::${lastGroups}`,
  `(?:(?:${group}:){0,5}${group})?::${group}`,
  `(?:(?:${group}:){0,6}${group})?::`,
].join('|')

const leapYear = '(?:\\d\\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)'
const day = [
  '\\d{4}-(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])',
  '\\d{4}-(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)',
  '\\d{4}-02-(?:0[1-9]|1\\d|2[0-8])',
  `${leapYear}-02-29`,
].join('|')
const fraction = '(?:\\.\\d{1,9})?'
const zone = '[+\\-](?:[01]\\d|2[0-3]):[0-5]\\d'
const clock = `(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d${fraction}(?:[Zz]|${zone})|${leapSeconds()}`

/** The last second of a day in UTC may be a 61st one, whatever the local hour is. */
function leapSeconds(): string {
  const two = (value: number) => String(value).padStart(2, '0')
  const ways = [`23:59:60${fraction}(?:[Zz]|[+\\-]00:00)`]
  for (let hours = 1; hours < 24; hours++) {
    ways.push(`${two(hours - 1)}:59:60\\+${two(hours)}:00`, `${two(23 - hours)}:59:60-${two(hours)}:00`)
  }
  return ways.join('|')
}

const span = '\\d{1,9}'
const days = `${span}D`
const months = `${span}M(?:${days})?`
const years = `${span}Y(?:${months})?`
const seconds = `${span}S`
const minutes = `${span}M(?:${seconds})?`
const hours = `${span}H(?:${minutes})?`
const timeSpan = `T(?:${hours}|${minutes}|${seconds})`

/** Two hyphens at the third and fourth position mark encoded labels (RFC 5891), which no expression can check. */
function label(longest: number): string {
  const own = '[A-Za-z0-9]'
  const any = '[A-Za-z0-9\\-]'
  if (longest < 5) return longest < 2 ? own : `${own}(?:${any}{0,${longest - 2}}${own})?`
  return `${own}(?:${any}{0,2}${own}|${any}(?:${own}${any}|-${own})${any}{0,${longest - 5}}${own})?`
}
/** A label of any length. */
const anyLabel =
  '[A-Za-z0-9](?:[A-Za-z0-9\\-]{0,2}[A-Za-z0-9]|[A-Za-z0-9\\-](?:[A-Za-z0-9][A-Za-z0-9\\-]|-[A-Za-z0-9])[A-Za-z0-9\\-]*[A-Za-z0-9])?'
const hostname = `${label(63)}(?:\\.${label(63)}){0,2}|${label(24)}(?:\\.${label(24)}){3,9}`
const atom = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~\\-]"

/** A dot stands between characters only, so the name has at most one character more than twice this number. */
const name = (pairs: number) => `${atom}(?:\\.?${atom}){0,${pairs}}`

const percent = '%[0-9A-Fa-f]{2}'
const unreserved = 'A-Za-z0-9\\-._~'
/** RFC 3987: what is allowed in addition to `unreserved`. */
const international = `${unreserved}\\u{a0}-\\u{d7ff}\\u{f900}-\\u{fdcf}\\u{fdf0}-\\u{ffef}\\u{10000}-\\u{1fffd}\\u{20000}-\\u{2fffd}\\u{30000}-\\u{3fffd}`
const delimiters = "!$&'()*+,;="
const literalAddress = `\\[(?:${ipv6}|[vV][0-9A-Fa-f]+\\.[${unreserved}${delimiters}:]+)\\]`

function addresses(characters: string): { uri: string; relative: string; located: string } {
  const pathCharacter = `(?:[${characters}${delimiters}:@]|${percent})`
  const noColon = `(?:[${characters}${delimiters}@]|${percent})`
  const segments = `(?:/${pathCharacter}*)*`
  const rest = `(?:\\?(?:${pathCharacter}|[/?])*)?(?:#(?:${pathCharacter}|[/?])*)?`
  const authority = (host: string) =>
    `(?:(?:[${characters}${delimiters}:]|${percent})*@)?` +
    `(?:${literalAddress}|(?:[${characters}${delimiters}]|${percent})${host})(?::\\d{0,5})?`
  const rooted = `/(?:${pathCharacter}+${segments})?`
  const scheme = '[A-Za-z][A-Za-z0-9+\\-.]*'
  return {
    uri: `${scheme}:(?:(?://${authority('*')}${segments})|${rooted}|${pathCharacter}+${segments})?${rest}`,
    relative: `(?:(?://${authority('*')}${segments})|${rooted}|${noColon}+${segments})?${rest}`,
    located: `${scheme}://${authority('+')}${segments}${rest}`,
  }
}
const { uri, relative, located } = addresses(unreserved)
const { uri: iri, relative: relativeIri } = addresses(international)

const web = 'http and https with unreserved characters, slashes and a query'
const plain = `[${unreserved}/?&=+,;]`

function webAddress(most: number): string {
  return `https?://${plain}{1,${Math.max(most - 8, 1)}}`
}

const variable = `(?:\\w|${percent})(?:\\.?(?:\\w|${percent}))*(?::[1-9]\\d{0,3}|\\*)?`
const templated = `\\{[+#./;?&=,!@|]?${variable}(?:,${variable})*\\}`
const pointer = '(?:/(?:[^~/]|~[01])*)*'

/** One character of an expression, or a class of characters. */
const inClass = '[A-Za-z0-9_ .,:;@#%&=+*/]|\\\\[dswDSW.\\-]|a-z|A-Z|0-9|a-f|A-F'
const single =
  '(?:[^\\\\^$.*+?()\\[\\]{}|/\\u{0}-\\u{1f}]|\\\\[dDsSwWtnr.*+?^$(){}|/\\[\\]\\\\]|\\.|' +
  `\\[\\^?(?:${inClass})+\\])`
const expression = branches(`(?:${single}|${parens(branches(`(?:${single}|${parens(branches(single))})`))})`)

function branches(atom: string): string {
  const branch = `\\^?(?:${atom}(?:[*+?]|\\{\\d{1,2}\\})?)*\\$?`
  return `${branch}(?:\\|${branch})*`
}

function parens(inside: string): string {
  return `\\((?:\\?:)?(?:${inside})\\)`
}

const ofStandards: Readonly<Record<string, Format>> = {
  date: { pattern: day, standard: 'RFC 3339, with the days that a month has' },
  time: {
    pattern: clock,
    standard: 'RFC 3339',
    bound: 'nine digits of a second; leap seconds in zones of whole hours',
  },
  'date-time': {
    pattern: `(?:${day})[Tt](?:${clock})`,
    standard: 'RFC 3339',
    bound: 'as `time`',
  },
  duration: {
    pattern: `P(?:(?:${days}|${months}|${years})(?:${timeSpan})?|${timeSpan}|${span}W)`,
    standard: 'RFC 3339, appendix A',
    bound: 'nine digits each',
  },
  email: {
    pattern: `${name(31)}@(?:${label(40)}\\.){1,3}${label(40)}`,
    standard: 'RFC 5321',
    bound: 'no quoted names, no addresses in brackets, a domain of two to four labels of 40 characters',
    implied: [String.raw`^[^\s@"]{1,64}@[^\s@]{1,255}$`],
    within: (most) => {
      // In so few characters no part can exceed its own limit.
      if (most <= 66) return `${atom}+(?:\\.${atom}+)*@${anyLabel}(?:\\.${anyLabel})+`
      const quarter = Math.floor(most / 4)
      const domain = label(Math.min(quarter - 1, 63))
      return `${name(quarter - 2)}@${domain}\\.${domain}`
    },
  },
  hostname: {
    pattern: hostname,
    standard: 'RFC 1123',
    bound: 'three labels of 63 characters, or ten of 24, none of them encoded (`xn--…`)',
    implied: [
      String.raw`^(?=.{1,253}\.?$)[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[-0-9a-zA-Z]{0,61}[0-9a-zA-Z])?)*\.?$`,
    ],
    within: (most) => {
      if (most <= 63) return `${anyLabel}(?:\\.${anyLabel})*`
      const half = Math.min(Math.floor((most - 1) / 2), 63)
      return `${label(63)}|${label(half)}\\.${label(half)}`
    },
  },
  ipv4: { pattern: ipv4, standard: 'RFC 2673' },
  ipv6: { pattern: ipv6, standard: 'RFC 4291' },
  uuid: { pattern: '[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}', standard: 'RFC 4122' },
  uri: {
    pattern: uri,
    standard: 'RFC 3986',
    bound: `five digits of a port; with a maxLength, ${web}`,
    within: webAddress,
  },
  'uri-reference': {
    pattern: `${uri}|${relative}`,
    standard: 'RFC 3986',
    bound: `five digits of a port; with a maxLength, ${web}`,
    within: webAddress,
  },
  'uri-template': {
    pattern: `(?:[!#$&(-;=?-\\[\\]_a-z~]|${percent}|${templated})*`,
    standard: 'RFC 6570',
    bound: 'characters of ASCII',
  },
  'json-pointer': { pattern: pointer, standard: 'RFC 6901' },
  'relative-json-pointer': {
    pattern: `(?:0|[1-9]\\d{0,8})(?:#|${pointer})`,
    standard: 'draft-bhutton-relative-json-pointer',
    bound: 'nine digits',
  },
  iri: { pattern: iri, standard: 'RFC 3987', bound: `as \`uri\``, within: webAddress },
  'iri-reference': {
    pattern: `${iri}|${relativeIri}`,
    standard: 'RFC 3987',
    bound: 'as `uri`',
    within: webAddress,
  },
  regex: {
    pattern: expression,
    standard: 'ECMA-262',
    bound: 'groups in two levels, no names, look-around, back-references or properties',
  },
}

/** Formats that follow the rules of another one. */
const sameAs: Readonly<Record<string, string>> = {
  'idn-email': 'email',
  'name-email': 'email',
  'idn-hostname': 'hostname',
  'host-name': 'hostname',
  'ip-address': 'ipv4',
  guid: 'uuid',
  'multi-host-uri': 'uri',
  'iso-date-time': 'date-time',
  'iso-time': 'time',
}

export const formats: Readonly<Record<string, Format>> = {
  ...ofStandards,
  ...ofLibraries({ ipv4, ipv6, located }),
  ...Object.fromEntries(
    Object.entries(sameAs).flatMap(([name, other]) => {
      const { [other]: format } = ofStandards
      return format === undefined ? [] : [[name, { ...format, bound: `as \`${other}\`` }]]
    }),
  ),
}

/** Formats of numbers, with their minimum and maximum. */
export const numberFormats: Readonly<Record<string, readonly [least: string, most: string]>> = {
  int8: ['-128', '127'],
  uint8: ['0', '255'],
  int16: ['-32768', '32767'],
  uint16: ['0', '65535'],
  int32: ['-2147483648', '2147483647'],
  uint32: ['0', '4294967295'],
  int64: ['-9223372036854775808', '9223372036854775807'],
  uint64: ['0', '18446744073709551615'],
}
