import { schemaCase as row, type SchemaCase } from './schema-case.ts'

const format = (name: string, valid: string[], invalid: string[]) =>
  row(`format ${name}`, { type: 'string', format: name }, valid, [...invalid, '', 1])

/** Formats that libraries write, and edge cases of the standards. */
const moreFormats: readonly SchemaCase[] = [
  row(
    'format time, leap seconds',
    { format: 'time' },
    ['12:00:00z', '23:59:60Z', '15:59:60-08:00', '00:59:60+01:00'],
    ['12:00:60Z', '23:59:60+01:00', '22:59:60Z'],
  ),
  row(
    'format date-time, small letters',
    { format: 'date-time' },
    ['2020-01-01t00:00:00z'],
    ['2020-01-01_00:00:00Z'],
  ),
  row(
    'format hostname, encoded labels',
    { format: 'hostname' },
    ['a--b', 'abc-d.com', 'a-bc'],
    ['ab--c', 'xn--X'],
  ),
  row('format iri', { format: 'iri' }, ['http://ƒøø.example/?∂=π#ü'], ['/abc', 'http:// x']),
  row(
    'format iri-reference',
    { format: 'iri-reference' },
    ['//ƒøø.example/?∂=π#ü', '/âππ', ''],
    ['\\\\WINDOWS'],
  ),
  row(
    'format regex',
    { format: 'regex' },
    ['^[a-z]+$', '(a|b)*c?', '^\\d{3}-\\d{4}$', '^(?:[A-Z](x)y)+$', ''],
    ['[', '(', 'a**', '^(abc]', '(a'],
  ),
  row(
    'format ipv4network',
    { format: 'ipv4network' },
    ['10.0.0.0/8', '192.168.1.0/24', '1.2.3.4/32', '0.0.0.0/0', '10.128.0.0/9'],
    ['10.0.0.1/8', '10.1.0.0/9', '1.2.3.4/33', '1.2.3.4'],
  ),
  row(
    'format ipv6network',
    { format: 'ipv6network' },
    ['2001:db8::/32', '::/0', '::1/128'],
    ['2001:db8::1/32'],
  ),
  row('format ipvanyaddress', { format: 'ipvanyaddress' }, ['1.2.3.4', '::1'], ['1.2.3', '']),
  row('format cidrv4', { format: 'cidrv4' }, ['10.0.0.1/8'], ['10.0.0.1/33']),
  row(
    'format base64',
    { format: 'base64' },
    ['', 'aGVsbG8=', 'aGVsbA==', 'aGVs'],
    ['a', 'aGVsbG9=', 'aGVsbG8'],
  ),
  row('format byte', { format: 'byte' }, ['aGVsbG8='], ['a']),
  row('format base64url', { format: 'base64url' }, ['aGVsbG8=', 'a-_A'], ['a+/A', 'a', 'aGVsbG8']),
  row(
    'format jwt',
    { format: 'jwt' },
    ['eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxIn0.abc'],
    ['a.b.c', 'eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxIn0'],
  ),
  row('format color', { format: 'color' }, ['#fff', '#FFAA00', 'red'], ['#ff', 'reddish']),
  row(
    'format uuid4',
    { format: 'uuid4' },
    ['123e4567-e89b-42d3-a456-426614174000'],
    ['123e4567-e89b-12d3-a456-426614174000', '123e4567-e89b-42d3-c456-426614174000'],
  ),
  row(
    'format url',
    { format: 'url' },
    ['https://a.example/b?c#d', 'http://localhost:80'],
    ['https://', 'mailto:a@b.c'],
  ),
  row('format e164', { format: 'e164' }, ['+14155552671'], ['14155552671', '+0123456789']),
  row('format mac', { format: 'mac' }, ['00:1a:2b:3c:4d:5e'], ['00-1a-2b-3c-4d-5e', '00:1A:2b:3c:4d:5e']),
  row('format ulid', { format: 'ulid' }, ['01ARZ3NDEKTSV4RRFFQ69G5FAV'], ['81ARZ3NDEKTSV4RRFFQ69G5FAV']),
  row('format nanoid', { format: 'nanoid' }, ['V1StGXR8_Z5jdHi6B-myT'], ['short']),
  row('format cuid2', { format: 'cuid2' }, ['tz4a98xxat96iws9zmbrgj3a'], ['Tz4a', '']),
  row('a format that nobody knows', { type: 'string', format: 'moon-phase' }, ['full', ''], [1]),
  row(
    'not a format that nobody knows',
    { anyOf: [{ type: 'null' }, { not: { format: 'moon-phase' } }] },
    [null],
    ['full', 1],
  ),
]

/** Formats, checked against their standards. */
export const formatCases: readonly SchemaCase[] = [
  format(
    'date',
    ['2026-11-20', '2024-02-29', '2000-02-29', '0001-01-01'],
    [
      '2026-13-01',
      '2026-00-10',
      '2026-02-29',
      '1900-02-29',
      '2026-04-31',
      '26-11-20',
      '2026-1-1',
      '2026-11-20T',
    ],
  ),
  format(
    'time',
    ['12:30:00Z', '23:59:59.123456Z', '00:00:00+02:00', '08:15:30-11:30'],
    ['24:00:00Z', '12:60:00Z', '12:30:00', '12:30Z', '12:30:00+25:00'],
  ),
  format(
    'date-time',
    ['2026-11-20T11:22:33Z', '2024-02-29T00:00:00.5+01:00'],
    ['2026-11-20 11:22:33Z', '2026-02-30T11:22:33Z', '2026-11-20', '2026-11-20T11:22:33'],
  ),
  format(
    'duration',
    ['P1Y', 'P1Y2M3D', 'PT36H', 'P3DT4H5M6S', 'P2W', 'PT0S'],
    ['P', 'PT', '1D', 'P1D2Y', 'P1H', 'P1WT1H'],
  ),
  format(
    'email',
    ['a@b.example', 'first.last+tag@sub.example.org', "o'neill@example.com"],
    ['a', 'a@', '@b.c', 'a@b', 'a b@c.de', 'a..b@c.de', '.a@c.de', 'a@-c.de'],
  ),
  format(
    'hostname',
    ['localhost', 'example.org', 'a-b.c1.example', 'x'.repeat(63)],
    ['-a.org', 'a-.org', 'a..b', 'a_b', `${'x'.repeat(64)}.org`, 'a.'],
  ),
  format(
    'ipv4',
    ['0.0.0.0', '192.168.1.254', '255.255.255.255'],
    ['256.0.0.1', '1.2.3', '1.2.3.4.5', '01.2.3.4', '1.2.3.'],
  ),
  format(
    'ipv6',
    ['::', '::1', '2001:db8::ff00:42:8329', '1:2:3:4:5:6:7:8', '::ffff:192.0.2.1', 'fe80::1:2'],
    [':', '1:2:3:4:5:6:7', '1:2:3:4:5:6:7:8:9', '::1::', '12345::', 'g::1'],
  ),
  format(
    'uuid',
    ['123e4567-e89b-12d3-a456-426614174000', 'FFFFFFFF-ffff-4fff-8FFF-ffffffffffff'],
    [
      '123e4567e89b12d3a456426614174000',
      '123e4567-e89b-12d3-a456-42661417400',
      '123e4567-e89b-12d3-a456-42661417400g',
    ],
  ),
  format(
    'uri',
    [
      'https://example.org',
      'http://user:pw@example.org:8080/a/b?c=d&e=%20#f',
      'mailto:a@b.de',
      'urn:isbn:0451450523',
      'file:///etc/hosts',
      'http://[::1]/',
    ],
    ['example.org/a', '/a/b', 'http://exa mple.org', 'http://a/%zz', '1http://a', 'http://a/"'],
  ),
  row(
    'format uri-reference',
    { type: 'string', format: 'uri-reference' },
    ['https://example.org', '/a/b?c#d', '../a', '#frag', '?q', 'a/b:c', ''],
    ['a b', 'http://exa mple', '%zz', '\\a', 1],
  ),
  row(
    'format uri-template',
    { type: 'string', format: 'uri-template' },
    ['', '/a/{id}', 'https://x.org/{+path}{?q,lang}', '{var:3}', '{list*}'],
    ['{', '{}', '/a/{id', '/a b', 1],
  ),
  row(
    'format json-pointer',
    { type: 'string', format: 'json-pointer' },
    ['', '/', '/a/b', '/a~1b/~0', '/é/0'],
    ['a', '/~', '/~2', '#/a', 1],
  ),
  format('relative-json-pointer', ['0', '1/a', '2#', '0/b~1c'], ['/a', '01', '-1', '1a']),
  row(
    'format int32',
    { type: 'integer', format: 'int32' },
    [0, 2147483647, -2147483648],
    [2147483648, -2147483649, 1.5],
  ),
  row('format int64', { type: 'integer', format: 'int64' }, [0, 9007199254740991], ['1', 1.5]),
  row('format uint8', { type: 'integer', format: 'uint8' }, [0, 255], [-1, 256]),
  row('format double', { type: 'number', format: 'double' }, [0, 1.5], ['1']),
  row(
    'format email with a length',
    { type: 'string', format: 'email', maxLength: 20 },
    ['a@b.example', 'ab.c@example.org'],
    ['a@b', `${'a'.repeat(20)}@b.example`],
  ),
  row(
    'format email with a usual length',
    { type: 'string', format: 'email', maxLength: 254 },
    ['first.last@sub.example.org'],
    ['a@', 'a'],
  ),
  row(
    'format uri with a length',
    { type: 'string', format: 'uri', minLength: 1, maxLength: 100 },
    ['https://example.org/a?b=c'],
    [`https://${'a'.repeat(100)}`, 'https://', 'a'],
  ),
  row(
    'format date with a pattern',
    { type: 'string', format: 'date', pattern: '^2026-' },
    ['2026-02-28'],
    ['2025-02-28', '2026-02-29'],
  ),
  row(
    'format ipv4 and not one of them',
    { type: 'string', format: 'ipv4', not: { const: '0.0.0.0' } },
    ['0.0.0.1', '10.0.0.0'],
    ['0.0.0.0', 'x'],
  ),
  row('not a format', { type: 'string', not: { format: 'date' } }, ['', '2026-02-30', 'x'], ['2026-02-28']),
  row(
    'one of two formats',
    { type: 'string', anyOf: [{ format: 'ipv4' }, { format: 'ipv6' }] },
    ['1.2.3.4', '::1'],
    ['1.2.3', ':'],
  ),
  ...moreFormats,
]
