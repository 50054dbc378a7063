import type { Format } from './format.ts'

/** The building blocks of the formats that libraries add to those of JSON Schema. */
interface AddressPatterns {
  ipv4: string
  ipv6: string
  /** An address with a scheme and a host. */
  located: string
}

/** The formats that zod, pydantic, OpenAPI and ajv-formats write. */
export function ofLibraries({ ipv4, ipv6, located }: AddressPatterns): Record<string, Format> {
  const bits4 = '/(?:[12]?\\d|3[0-2])'
  const bits6 = '/(?:\\d|[1-9]\\d|1[01]\\d|12[0-8])'
  const network4 = networks(ipv4)
  const network6 = `(?:${ipv6})/128|${sixteens()}`
  const uuids = Object.fromEntries(
    [1, 3, 4, 5, 6, 7, 8].map((version) => [
      `uuid${version}`,
      { pattern: uuid(version), standard: 'RFC 9562, of its version' },
    ]),
  )
  return {
    ...uuids,
    url: { pattern: located, standard: 'RFC 3986, with a host', bound: 'five digits of a port' },
    'json-pointer-uri-fragment': {
      pattern: "#(?:/(?:[A-Za-z0-9_\\-.!$&'()*+,;:=@]|%[0-9A-Fa-f]{2}|~[01])*)*",
      standard: 'RFC 6901, section 6',
    },
    byte: { pattern: base64('+/'), standard: 'RFC 4648, section 4' },
    base64: { pattern: base64('+/'), standard: 'RFC 4648, section 4' },
    base64url: { pattern: base64('\\-_'), standard: 'RFC 4648, section 5' },
    color: {
      pattern: `#[0-9A-Fa-f]{3}(?:[0-9A-Fa-f]{3})?|${colours}`,
      standard: 'CSS 2.1',
      bound: 'hexadecimal digits, and the names',
    },
    ipvanyaddress: { pattern: `${ipv4}|${ipv6}`, standard: 'as `ipv4` and `ipv6`' },
    ipv4network: { pattern: network4, standard: 'RFC 4632, no bits behind the prefix' },
    ipv6network: {
      pattern: network6,
      standard: 'RFC 4291, no bits behind the prefix',
      bound: 'prefixes of whole groups',
    },
    ipvanynetwork: {
      pattern: `${network4}|${network6}`,
      standard: 'as `ipv4network` and `ipv6network`',
      bound: 'prefixes of whole groups',
    },
    ipv4interface: { pattern: `${ipv4}${bits4}`, standard: 'RFC 4632' },
    ipv6interface: { pattern: `(?:${ipv6})${bits6}`, standard: 'RFC 4291' },
    ipvanyinterface: {
      pattern: `${ipv4}${bits4}|(?:${ipv6})${bits6}`,
      standard: 'as `ipv4interface` and `ipv6interface`',
    },
    cidrv4: { pattern: `${ipv4}${bits4}`, standard: 'RFC 4632' },
    cidrv6: { pattern: `(?:${ipv6})${bits6}`, standard: 'RFC 4291' },
    mac: { pattern: '(?:[0-9A-F]{2}:){5}[0-9A-F]{2}|(?:[0-9a-f]{2}:){5}[0-9a-f]{2}', standard: 'IEEE 802' },
    jwt: {
      pattern: `(?:${headers()})\\.[A-Za-z0-9_\\-]+\\.[A-Za-z0-9_\\-]+`,
      standard: 'RFC 7519, signed',
      bound: 'headers of `alg` and `typ`; the claims are not checked',
    },
    e164: { pattern: '\\+[1-9]\\d{6,14}', standard: 'ITU-T E.164' },
    cuid: { pattern: 'c[0-9a-z]{8,}', standard: 'as zod has it' },
    cuid2: { pattern: '[a-z][0-9a-z]+', standard: 'as zod has it' },
    ulid: { pattern: '[0-7][0-9A-HJKMNP-TV-Z]{25}', standard: 'as zod has it' },
    nanoid: { pattern: '[A-Za-z0-9_\\-]{21}', standard: 'as zod has it' },
    xid: { pattern: '[0-9a-v]{20}', standard: 'as zod has it' },
    ksuid: { pattern: '[A-Za-z0-9]{27}', standard: 'as zod has it' },
  }
}

const colours =
  'aqua|black|blue|fuchsia|gray|green|lime|maroon|navy|olive|orange|purple|red|silver|teal|white|yellow'

function uuid(version: number): string {
  const variant = '[89ABab]'
  return `[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-${version}[0-9A-Fa-f]{3}-${variant}[0-9A-Fa-f]{3}-[0-9A-Fa-f]{12}`
}

/** The unused bits of the last digit are zero. */
function base64(others: string): string {
  const digit = `[A-Za-z0-9${others}]`
  return `(?:${digit}{4})*(?:${digit}[AQgw]==|${digit}{2}[AEIMQUYcgkosw048]=)?`
}

/** Networks, by the length of their prefix. */
function networks(address: string): string {
  const byte = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)'
  const ways = [`${address}/32`]
  for (let bits = 0; bits < 32; bits++) {
    const whole = Math.floor(bits / 8)
    const step = 2 ** (8 - (bits % 8))
    const partial = Array.from({ length: 256 / step }, (_, i) => i * step).join('|')
    const bytes = [
      ...Array<string>(whole).fill(byte),
      `(?:${partial})`,
      ...Array<string>(3 - whole).fill('0'),
    ]
    ways.push(`${bytes.join('\\.')}/${bits}`)
  }
  return ways.join('|')
}

function sixteens(): string {
  const group = '[0-9A-Fa-f]{1,4}'
  const ways = ['::/0']
  for (let groups = 1; groups < 8; groups++)
    ways.push(`${group}(?::${group}){${groups - 1}}::/${16 * groups}`)
  return ways.join('|')
}

const algorithms = ['HS', 'RS', 'ES', 'PS'].flatMap((kind) => [256, 384, 512].map((bits) => `${kind}${bits}`))

function headers(): string {
  return [...algorithms, 'EdDSA']
    .flatMap((alg) => [
      { alg, typ: 'JWT' },
      { typ: 'JWT', alg },
    ])
    .map((header) => Buffer.from(JSON.stringify(header)).toString('base64url'))
    .join('|')
}
