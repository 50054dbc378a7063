/**
 * The formats of strings, each as a regular expression that a whole string must match: where the standard allows more
 * than a grammar can say in reasonable size, the expression is narrower, never wider, and `bound` says what is left out.
 */
export interface Format {
  readonly pattern: string
  readonly standard: string
  readonly bound?: string
  /** A narrower pattern for texts that may have only so many characters, where counting them in the whole one takes too many states. */
  readonly within?: (most: number) => string
}

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
const clock = '(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.\\d{1,9})?(?:Z|[+\\-](?:[01]\\d|2[0-3]):[0-5]\\d)'

const span = '\\d{1,9}'
const days = `${span}D`
const months = `${span}M(?:${days})?`
const years = `${span}Y(?:${months})?`
const seconds = `${span}S`
const minutes = `${span}M(?:${seconds})?`
const hours = `${span}H(?:${minutes})?`
const timeSpan = `T(?:${hours}|${minutes}|${seconds})`

function label(longest: number): string {
  const more = longest < 2 ? '' : `(?:[A-Za-z0-9\\-]{0,${longest - 2}}[A-Za-z0-9])?`
  return `[A-Za-z0-9]${more}`
}
/** However long it is. */
const anyLabel = '[A-Za-z0-9]+(?:-+[A-Za-z0-9]+)*'
const hostname = `${label(63)}(?:\\.${label(63)}){0,2}|${label(24)}(?:\\.${label(24)}){3,9}`
const atom = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~\\-]"

/** A dot stands between characters only, so there are at most one more than twice so many. */
const name = (pairs: number) => `${atom}(?:\\.?${atom}){0,${pairs}}`

const percent = '%[0-9A-Fa-f]{2}'
const unreserved = 'A-Za-z0-9\\-._~'
const delimiters = "!$&'()*+,;="
const pathCharacter = `(?:[${unreserved}${delimiters}:@]|${percent})`
const noColon = `(?:[${unreserved}${delimiters}@]|${percent})`
const segments = `(?:/${pathCharacter}*)*`
const rest = `(?:\\?(?:${pathCharacter}|[/?])*)?(?:#(?:${pathCharacter}|[/?])*)?`
const literalAddress = `\\[(?:${ipv6}|[vV][0-9A-Fa-f]+\\.[${unreserved}${delimiters}:]+)\\]`
const authority =
  `(?:(?:[${unreserved}${delimiters}:]|${percent})*@)?` +
  `(?:${literalAddress}|(?:[${unreserved}${delimiters}]|${percent})*)(?::\\d{0,5})?`
const rooted = `/(?:${pathCharacter}+${segments})?`
const uri =
  `[A-Za-z][A-Za-z0-9+\\-.]*:` +
  `(?:(?://${authority}${segments})|${rooted}|${pathCharacter}+${segments})?${rest}`
const relative = `(?:(?://${authority}${segments})|${rooted}|${noColon}+${segments})?${rest}`

const web = 'http and https with unreserved characters, slashes and a query'
const plain = `[${unreserved}/?&=+,;]`

function webAddress(most: number): string {
  return `https?://${plain}{1,${Math.max(most - 8, 1)}}`
}

const variable = `(?:\\w|${percent})(?:\\.?(?:\\w|${percent}))*(?::[1-9]\\d{0,3}|\\*)?`
const templated = `\\{[+#./;?&=,!@|]?${variable}(?:,${variable})*\\}`
const pointer = '(?:/(?:[^~/]|~[01])*)*'

export const formats: Readonly<Record<string, Format>> = {
  date: { pattern: day, standard: 'RFC 3339, with the days that a month has' },
  time: { pattern: clock, standard: 'RFC 3339', bound: 'capital Z, no leap second, nine digits of a second' },
  'date-time': {
    pattern: `(?:${day})T${clock}`,
    standard: 'RFC 3339',
    bound: 'capital T and Z, no leap second, nine digits of a second',
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
    within: (most) => {
      // In so few characters no part can be longer than it may be.
      if (most <= 66) return `${atom}+(?:\\.${atom}+)*@${anyLabel}(?:\\.${anyLabel})+`
      const quarter = Math.floor(most / 4)
      const domain = label(Math.min(quarter - 1, 63))
      return `${name(quarter - 2)}@${domain}\\.${domain}`
    },
  },
  hostname: {
    pattern: hostname,
    standard: 'RFC 1123',
    bound: 'three labels of 63 characters, or ten of 24',
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
}

/** Formats of numbers, as their least and most. */
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

/** Formats that say nothing about which texts are right. */
export const otherFormats: readonly string[] = ['float', 'double', 'password']
