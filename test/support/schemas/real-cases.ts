// biome-ignore-all lint/suspicious/noThenProperty: the keyword of JSON Schema is called that.

import { schemaCase as row, type SchemaCase } from './schema-case.ts'

const closed = (properties: Record<string, unknown>, required = Object.keys(properties)) => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
})
const open = (properties: Record<string, unknown>, required: string[] = []) => ({
  type: 'object',
  properties,
  required,
})
const text = { type: 'string' }
const whole = { type: 'integer' }
const flag = { type: 'boolean' }
const id = { type: 'string', pattern: '^[a-z]{3}_[A-Za-z0-9]{8}$' }
const money = closed({
  amount: { type: 'number', minimum: 0, multipleOf: 0.01 },
  currency: { type: 'string', pattern: '^[A-Z]{3}$' },
})

/** The arguments of tools. */
const tools: readonly SchemaCase[] = [
  row(
    'tool: weather',
    open(
      {
        city: { ...text, description: 'Where' },
        unit: { enum: ['celsius', 'fahrenheit'], default: 'celsius' },
      },
      ['city'],
    ),
    [{ city: 'Utrecht' }, { city: 'Oslo', unit: 'celsius' }],
    [{}, { city: 1 }, { city: 'x', unit: 'kelvin' }],
  ),
  row(
    'tool: weather, strict',
    closed({ city: text, unit: { type: ['string', 'null'], enum: ['celsius', 'fahrenheit', null] } }),
    [
      { city: 'Oslo', unit: null },
      { city: '', unit: 'celsius' },
    ],
    [{ city: 'Oslo' }, { city: 'x', unit: 'k' }],
  ),
  row(
    'tool: search',
    closed(
      {
        query: { ...text, minLength: 1, maxLength: 200 },
        limit: { ...whole, minimum: 1, maximum: 50 },
        filters: { type: 'object', additionalProperties: text },
      },
      ['query'],
    ),
    [{ query: 'a' }, { query: 'a', limit: 50, filters: { lang: 'nl' } }],
    [{ query: '' }, { query: 'a', limit: 51 }, { query: 'a', filters: { x: 1 } }],
  ),
  row(
    'tool: send a message',
    closed({
      to: { type: 'array', items: { ...text, format: 'email' }, minItems: 1, maxItems: 5 },
      subject: { ...text, maxLength: 78 },
      body: text,
    }),
    [{ to: ['a@b.example'], subject: 'Hi', body: 'x\ny' }],
    [
      { to: [], subject: '', body: '' },
      { to: [1], subject: '', body: '' },
    ],
  ),
  row(
    'tool: calculator',
    closed({
      op: { enum: ['add', 'subtract', 'multiply', 'divide'] },
      a: { type: 'number' },
      b: { type: 'number' },
    }),
    [{ op: 'add', a: 1, b: -2.5 }],
    [
      { op: 'pow', a: 1, b: 2 },
      { op: 'add', a: '1', b: 2 },
    ],
  ),
  row(
    'tool: run SQL',
    closed(
      {
        sql: { ...text, pattern: '^SELECT ' },
        params: { type: 'array', items: { type: ['string', 'number', 'boolean', 'null'] } },
      },
      ['sql'],
    ),
    [{ sql: 'SELECT 1' }, { sql: 'SELECT ?', params: [1, 'a', null, true] }],
    [{ sql: 'DROP' }, { sql: 'SELECT ?', params: [[]] }],
  ),
  row(
    'tool: read a file',
    closed(
      {
        path: { ...text, pattern: '^/(?:[\\w.-]+/)*[\\w.-]+$' },
        from: { ...whole, minimum: 1 },
        lines: { ...whole, minimum: 1, maximum: 2000 },
      },
      ['path'],
    ),
    [{ path: '/etc/hosts' }, { path: '/a/b-c/d.txt', from: 10, lines: 2000 }],
    [{ path: 'a' }, { path: '/a/' }, { path: '/a', from: 0 }],
  ),
  row(
    'tool: edit a file',
    closed({
      path: text,
      edits: {
        type: 'array',
        items: closed({ old: { ...text, minLength: 1 }, new: text, all: flag }, ['old', 'new']),
        minItems: 1,
      },
    }),
    [
      {
        path: 'a',
        edits: [
          { old: 'x', new: '' },
          { old: 'y', new: 'z', all: true },
        ],
      },
    ],
    [
      { path: 'a', edits: [] },
      { path: 'a', edits: [{ old: '', new: 'x' }] },
    ],
  ),
  row(
    'tool: shell',
    closed(
      {
        command: { type: 'array', items: text, minItems: 1 },
        cwd: { type: ['string', 'null'] },
        timeout_ms: { ...whole, minimum: 100, maximum: 600000 },
      },
      ['command'],
    ),
    [{ command: ['ls', '-l'] }, { command: ['x'], cwd: null, timeout_ms: 100 }],
    [{ command: [] }, { command: ['ls'], timeout_ms: 99 }],
  ),
  row(
    'tool: book a flight',
    closed(
      {
        from: { ...text, pattern: '^[A-Z]{3}$' },
        to: { ...text, pattern: '^[A-Z]{3}$' },
        date: { ...text, format: 'date' },
        passengers: { ...whole, minimum: 1, maximum: 9 },
        cabin: { enum: ['economy', 'business', 'first'] },
      },
      ['from', 'to', 'date'],
    ),
    [
      { from: 'AMS', to: 'JFK', date: '2026-12-24' },
      { from: 'AMS', to: 'JFK', date: '2026-12-24', passengers: 2, cabin: 'first' },
    ],
    [
      { from: 'ams', to: 'JFK', date: '2026-12-24' },
      { from: 'AMS', to: 'JFK', date: '2026-12-24', passengers: 10 },
    ],
  ),
  row(
    'tool: set a reminder',
    closed({
      text: { ...text, minLength: 1 },
      at: {
        anyOf: [
          closed({ in_minutes: { ...whole, minimum: 1, maximum: 1440 } }),
          closed({ time: { ...text, pattern: '^([01]\\d|2[0-3]):[0-5]\\d$' } }),
        ],
      },
    }),
    [
      { text: 'x', at: { in_minutes: 5 } },
      { text: 'x', at: { time: '23:59' } },
    ],
    [
      { text: 'x', at: {} },
      { text: 'x', at: { time: '24:00' } },
      { text: 'x', at: { in_minutes: 0 } },
    ],
  ),
  row('tool: no arguments', closed({}), [{}], [{ a: 1 }, []]),
  row(
    'tool: draw shapes',
    {
      type: 'array',
      minItems: 1,
      items: {
        oneOf: [
          closed({ kind: { const: 'circle' }, r: { type: 'number', exclusiveMinimum: 0 } }),
          closed({ kind: { const: 'rect' }, w: { type: 'number' }, h: { type: 'number' } }),
          closed({
            kind: { const: 'path' },
            points: {
              type: 'array',
              items: { type: 'array', items: { type: 'number' }, minItems: 2, maxItems: 2 },
              minItems: 2,
            },
          }),
        ],
      },
    },
    [
      [{ kind: 'circle', r: 1 }],
      [
        { kind: 'rect', w: 1, h: 2 },
        {
          kind: 'path',
          points: [
            [0, 0],
            [1, 1.5],
          ],
        },
      ],
    ],
    [[], [{ kind: 'circle', r: 0 }], [{ kind: 'path', points: [[0, 0]] }], [{ kind: 'oval' }]],
  ),
  row(
    'tool: answer with sources',
    closed({
      answer: text,
      sources: {
        type: 'array',
        items: closed({ url: { ...text, pattern: '^https://' }, quote: { ...text, maxLength: 300 } }),
      },
      confidence: { type: 'number', minimum: 0, maximum: 1 },
    }),
    [
      { answer: 'x', sources: [], confidence: 0.5 },
      { answer: 'x', sources: [{ url: 'https://a.example', quote: '' }], confidence: 1 },
    ],
    [
      { answer: 'x', sources: [], confidence: 1.5 },
      { answer: 'x', sources: [{ url: 'ftp://a', quote: '' }], confidence: 0 },
    ],
  ),
]

/** What APIs send and receive. */
const resources: readonly SchemaCase[] = [
  row(
    'resource: user',
    closed({
      id,
      name: { ...text, minLength: 1, maxLength: 80 },
      email: { ...text, format: 'email' },
      role: { enum: ['admin', 'member', 'guest'] },
      created_at: { ...text, format: 'date-time' },
      deleted_at: { anyOf: [{ ...text, format: 'date-time' }, { type: 'null' }] },
    }),
    [
      {
        id: 'usr_A1b2C3d4',
        name: 'A',
        email: 'a@b.example',
        role: 'guest',
        created_at: '2026-11-20T10:00:00Z',
        deleted_at: null,
      },
    ],
    [
      {
        id: 'usr_1',
        name: 'A',
        email: 'a@b.example',
        role: 'guest',
        created_at: '2026-11-20T10:00:00Z',
        deleted_at: null,
      },
    ],
  ),
  row(
    'resource: page of users',
    closed({
      data: { type: 'array', items: closed({ id, name: text }) },
      next: { type: ['string', 'null'] },
      total: { ...whole, minimum: 0 },
    }),
    [
      { data: [], next: null, total: 0 },
      { data: [{ id: 'usr_abcdefgh', name: '' }], next: 'c', total: 1 },
    ],
    [
      { data: [{}], next: null, total: 0 },
      { data: [], next: 1, total: 0 },
    ],
  ),
  row(
    'resource: order',
    {
      ...closed({
        id,
        lines: {
          type: 'array',
          items: closed({
            sku: { ...text, pattern: '^[A-Z]{2}-\\d{4,6}$' },
            quantity: { ...whole, minimum: 1, maximum: 999 },
            price: { $ref: '#/$defs/money' },
          }),
          minItems: 1,
        },
        total: { $ref: '#/$defs/money' },
        status: { enum: ['open', 'paid', 'shipped'] },
      }),
      $defs: { money },
    },
    [
      {
        id: 'ord_A1b2C3d4',
        lines: [{ sku: 'AB-1234', quantity: 2, price: { amount: 9.99, currency: 'EUR' } }],
        total: { amount: 19.98, currency: 'EUR' },
        status: 'open',
      },
    ],
    [
      { id: 'ord_A1b2C3d4', lines: [], total: { amount: 19.98, currency: 'EUR' }, status: 'open' },
      {
        id: 'ord_A1b2C3d4',
        lines: [{ sku: 'AB-1', quantity: 2, price: { amount: 9.99, currency: 'EUR' } }],
        total: { amount: 1, currency: 'EUR' },
        status: 'open',
      },
    ],
  ),
  row(
    'resource: money',
    money,
    [
      { amount: 0.5, currency: 'EUR' },
      { amount: 12, currency: 'USD' },
    ],
    [
      { amount: -1, currency: 'EUR' },
      { amount: 1.005, currency: 'EUR' },
      { amount: 1, currency: 'eur' },
    ],
  ),
  row(
    'resource: address by country',
    {
      ...open({ country: { enum: ['NL', 'DE', 'US'] }, postcode: text, state: text }, [
        'country',
        'postcode',
      ]),
      additionalProperties: false,
      allOf: [
        {
          if: { properties: { country: { const: 'NL' } } },
          then: { properties: { postcode: { pattern: '^\\d{4} ?[A-Z]{2}$' } } },
        },
        { if: { properties: { country: { const: 'US' } } }, then: { required: ['state'] } },
      ],
    },
    [
      { country: 'NL', postcode: '1234 AB' },
      { country: 'DE', postcode: 'x' },
      { country: 'US', postcode: 'x', state: 'CA' },
    ],
    [
      { country: 'NL', postcode: 'x' },
      { country: 'US', postcode: 'x' },
    ],
  ),
  row(
    'resource: GeoJSON geometry',
    {
      oneOf: [
        closed({ type: { const: 'Point' }, coordinates: { $ref: '#/$defs/position' } }),
        closed({
          type: { const: 'LineString' },
          coordinates: { type: 'array', items: { $ref: '#/$defs/position' }, minItems: 2 },
        }),
        closed({
          type: { const: 'Polygon' },
          coordinates: {
            type: 'array',
            items: { type: 'array', items: { $ref: '#/$defs/position' }, minItems: 4 },
          },
        }),
      ],
      $defs: {
        position: {
          type: 'array',
          prefixItems: [
            { type: 'number', minimum: -180, maximum: 180 },
            { type: 'number', minimum: -90, maximum: 90 },
          ],
          items: false,
          minItems: 2,
        },
      },
    },
    [
      { type: 'Point', coordinates: [4.9, 52.4] },
      {
        type: 'LineString',
        coordinates: [
          [0, 0],
          [1, 1],
        ],
      },
    ],
    [
      { type: 'Point', coordinates: [181, 0] },
      { type: 'Point', coordinates: [0] },
      { type: 'LineString', coordinates: [[0, 0]] },
    ],
  ),
  row(
    'resource: webhook event',
    {
      oneOf: [
        closed({
          type: { const: 'created' },
          at: { ...text, format: 'date-time' },
          object: open({ id: text }, ['id']),
        }),
        closed({ type: { const: 'deleted' }, at: { ...text, format: 'date-time' }, id: text }),
      ],
    },
    [
      { type: 'created', at: '2026-01-01T00:00:00Z', object: { id: 'a', more: 1 } },
      { type: 'deleted', at: '2026-01-01T00:00:00Z', id: 'a' },
    ],
    [{ type: 'created', at: '2026-01-01T00:00:00Z', id: 'a' }, { type: 'deleted' }],
  ),
  row(
    'resource: problem details',
    open({
      type: { ...text, format: 'uri-reference' },
      title: text,
      status: { ...whole, minimum: 100, maximum: 599 },
      detail: text,
      instance: { ...text, format: 'uri-reference' },
    }),
    [{}, { type: 'about:blank', title: 'T', status: 404 }, { status: 500, trace: [1] }],
    [{ status: 99 }, { title: 1 }],
  ),
  row(
    'resource: JSON Patch',
    {
      type: 'array',
      items: {
        oneOf: [
          closed({
            op: { enum: ['add', 'replace', 'test'] },
            path: { ...text, format: 'json-pointer' },
            value: {},
          }),
          closed({ op: { const: 'remove' }, path: { ...text, format: 'json-pointer' } }),
          closed({ op: { enum: ['move', 'copy'] }, from: text, path: text }),
        ],
      },
    },
    [
      [],
      [
        { op: 'add', path: '/a', value: [1] },
        { op: 'remove', path: '/b' },
        { op: 'move', from: '/a', path: '/b' },
      ],
    ],
    [[{ op: 'remove' }], [{ op: 'add', path: '/a' }], [{ op: 'x', path: '' }]],
  ),
  row(
    'resource: package manifest',
    open(
      {
        name: { ...text, pattern: '^(?:@[a-z0-9-]+/)?[a-z0-9-]+$', maxLength: 214 },
        version: { ...text, pattern: '^\\d+\\.\\d+\\.\\d+$' },
        private: flag,
        scripts: { type: 'object', additionalProperties: text },
        engines: { type: 'object', propertyNames: { enum: ['node', 'npm'] }, additionalProperties: text },
      },
      ['name', 'version'],
    ),
    [
      { name: '@a/b', version: '1.0.0' },
      { name: 'a', version: '0.0.1', scripts: { x: 'y' }, engines: { node: '>=22' } },
    ],
    [
      { name: 'A', version: '1.0.0' },
      { name: 'a', version: '1.0' },
      { name: 'a', version: '1.0.0', engines: { deno: '1' } },
    ],
  ),
  row(
    'resource: server configuration',
    closed(
      {
        host: {
          anyOf: [
            { ...text, format: 'ipv4' },
            { ...text, format: 'hostname' },
          ],
        },
        port: { ...whole, minimum: 0, maximum: 65535 },
        tls: { anyOf: [{ const: false }, closed({ cert: text, key: text })] },
        log: { enum: ['debug', 'info', 'warn', 'error'] },
      },
      ['host', 'port'],
    ),
    [
      { host: '127.0.0.1', port: 8080 },
      { host: 'localhost', port: 0, tls: false, log: 'info' },
      { host: 'a.b', port: 1, tls: { cert: 'c', key: 'k' } },
    ],
    [
      { host: 'a', port: 65536 },
      { host: 'a', port: 1, tls: true },
    ],
  ),
  row(
    'resource: labels',
    {
      type: 'object',
      propertyNames: { pattern: '^[a-z][a-z0-9_.-]{0,62}$' },
      additionalProperties: { type: 'string', maxLength: 63 },
    },
    [{}, { app: 'x', 'tier.v1': '' }],
    [{ App: 'x' }, { app: 1 }, { app: 'x'.repeat(64) }],
  ),
  row(
    'resource: chat message',
    closed(
      {
        role: { enum: ['system', 'user', 'assistant', 'tool'] },
        content: {
          anyOf: [
            text,
            { type: 'array', items: closed({ type: { const: 'text' }, text }) },
            { type: 'null' },
          ],
        },
        tool_call_id: text,
      },
      ['role', 'content'],
    ),
    [
      { role: 'user', content: 'x' },
      { role: 'user', content: [{ type: 'text', text: 'x' }] },
      { role: 'tool', content: null, tool_call_id: 'a' },
    ],
    [
      { role: 'x', content: 'x' },
      { role: 'user', content: [{ type: 'image' }] },
    ],
  ),
  row(
    'resource: directory tree',
    {
      $ref: '#/$defs/entry',
      $defs: {
        entry: {
          oneOf: [
            closed({ file: { ...text, pattern: '^[^/]+$' }, size: { ...whole, minimum: 0 } }),
            closed({
              folder: { ...text, pattern: '^[^/]+$' },
              entries: { type: 'array', items: { $ref: '#/$defs/entry' } },
            }),
          ],
        },
      },
    },
    [
      { file: 'a', size: 1 },
      {
        folder: 'b',
        entries: [
          { file: 'c', size: 0 },
          { folder: 'd', entries: [] },
        ],
      },
    ],
    [{ file: 'a/b', size: 1 }, { folder: 'a' }, { file: 'a', entries: [] }],
  ),
  row(
    'resource: a schema of our own kind',
    {
      $ref: '#/$defs/s',
      $defs: {
        s: {
          anyOf: [
            closed({ type: { enum: ['string', 'integer'] } }),
            closed({ type: { const: 'array' }, items: { $ref: '#/$defs/s' } }),
            closed({
              type: { const: 'object' },
              properties: { type: 'object', additionalProperties: { $ref: '#/$defs/s' } },
            }),
          ],
        },
      },
    },
    [
      { type: 'string' },
      { type: 'object', properties: { a: { type: 'array', items: { type: 'integer' } } } },
    ],
    [{ type: 'array' }, { type: 'x' }],
  ),
]

/** Forms that people fill in, and data extracted from texts. */
const forms: readonly SchemaCase[] = [
  row(
    'form: contact',
    closed(
      {
        name: { ...text, minLength: 2, maxLength: 50 },
        email: { ...text, format: 'email', maxLength: 254 },
        phone: { ...text, pattern: '^\\+?[0-9 ]{7,15}$' },
        message: { ...text, minLength: 10, maxLength: 2000 },
      },
      ['name', 'email', 'message'],
    ),
    [
      { name: 'Al', email: 'a@b.example', message: 'x'.repeat(10) },
      { name: 'Al', email: 'a@b.example', phone: '+31 20 123', message: 'x'.repeat(2000) },
    ],
    [
      { name: 'A', email: 'a@b.example', message: 'x'.repeat(10) },
      { name: 'Al', email: 'a@b.example', message: 'short' },
    ],
  ),
  row(
    'form: survey',
    closed({
      rating: { ...whole, minimum: 1, maximum: 5 },
      liked: { type: 'array', items: { enum: ['speed', 'price', 'design'] }, uniqueItems: true },
      comment: { type: ['string', 'null'], maxLength: 100 },
    }),
    [
      { rating: 5, liked: [], comment: null },
      { rating: 1, liked: ['price', 'speed'], comment: 'x' },
    ],
    [
      { rating: 6, liked: [], comment: null },
      { rating: 1, liked: ['price', 'price'], comment: null },
    ],
  ),
  row(
    'form: registration',
    closed({
      user: { ...text, pattern: '^[a-z][a-z0-9_]*$', minLength: 3, maxLength: 20 },
      password: { ...text, minLength: 8, maxLength: 64 },
      terms: { const: true },
    }),
    [{ user: 'abc', password: 'x'.repeat(8), terms: true }],
    [
      { user: 'ab', password: 'x'.repeat(8), terms: true },
      { user: 'abc', password: 'short', terms: true },
      { user: 'abc', password: 'x'.repeat(8), terms: false },
    ],
  ),
  row(
    'form: payment',
    {
      type: 'object',
      properties: {
        method: { enum: ['card', 'iban'] },
        card: { ...text, pattern: '^\\d{16}$' },
        iban: { ...text, pattern: '^[A-Z]{2}\\d{2}[A-Z0-9]{11,30}$' },
      },
      required: ['method'],
      additionalProperties: false,
      oneOf: [
        { properties: { method: { const: 'card' } }, required: ['card'] },
        { properties: { method: { const: 'iban' } }, required: ['iban'] },
      ],
    },
    [
      { method: 'card', card: '4'.repeat(16) },
      { method: 'iban', iban: 'NL12ABCD0123456789' },
    ],
    [{ method: 'card' }, { method: 'iban', card: '4'.repeat(16) }, {}],
  ),
  row(
    'form: opening hours',
    {
      type: 'object',
      patternProperties: {
        '^(mon|tue|wed|thu|fri|sat|sun)$': {
          type: 'array',
          items: closed({
            from: { ...text, pattern: '^\\d\\d:\\d\\d$' },
            to: { ...text, pattern: '^\\d\\d:\\d\\d$' },
          }),
          maxItems: 2,
        },
      },
      additionalProperties: false,
    },
    [{}, { mon: [{ from: '09:00', to: '17:00' }], sun: [] }],
    [{ funday: [] }, { mon: [{ from: '9', to: '17:00' }] }],
  ),
  row(
    'form: event with a choice of place',
    closed(
      {
        title: { ...text, minLength: 1 },
        place: {
          oneOf: [closed({ online: { ...text, format: 'uri' } }), closed({ street: text, city: text })],
        },
        tags: { type: 'array', items: { ...text, pattern: '^#\\w+$' }, maxItems: 10 },
      },
      ['title', 'place'],
    ),
    [
      { title: 'x', place: { online: 'https://a.example/b' } },
      { title: 'x', place: { street: 's', city: 'c' }, tags: ['#a'] },
    ],
    [
      { title: 'x', place: {} },
      { title: 'x', place: { street: 's', city: 'c' }, tags: ['a'] },
    ],
  ),
  row(
    'extraction: people in a text',
    closed({
      people: {
        type: 'array',
        items: closed({
          name: { ...text, minLength: 1 },
          age: { anyOf: [{ ...whole, minimum: 0, maximum: 130 }, { type: 'null' }] },
          job: { type: ['string', 'null'] },
        }),
      },
    }),
    [
      { people: [] },
      {
        people: [
          { name: 'A', age: 30, job: null },
          { name: 'B', age: null, job: 'x' },
        ],
      },
    ],
    [{ people: [{ name: 'A', age: 131, job: null }] }, { people: [{ name: '', age: 1, job: null }] }],
  ),
  row(
    'extraction: invoice',
    closed({
      number: { ...text, pattern: '^[A-Z0-9-]{3,20}$' },
      date: { ...text, format: 'date' },
      net: { type: 'number', minimum: 0 },
      vat_percent: { enum: [0, 6, 9, 19, 21] },
      lines: {
        type: 'array',
        items: closed({ what: text, amount: { type: 'number' } }),
        minItems: 1,
        maxItems: 100,
      },
    }),
    [{ number: 'A-1', date: '2026-11-20', net: 10.5, vat_percent: 21, lines: [{ what: 'x', amount: -1 }] }],
    [
      { number: 'A-1', date: '2026-11-20', net: 10.5, vat_percent: 20, lines: [{ what: 'x', amount: 1 }] },
      { number: 'A-1', date: '2026-11-20', net: -1, vat_percent: 0, lines: [{ what: 'x', amount: 1 }] },
    ],
  ),
  row(
    'extraction: sentiment',
    closed({
      label: { enum: ['positive', 'neutral', 'negative'] },
      score: { type: 'number', minimum: -1, maximum: 1 },
    }),
    [
      { label: 'neutral', score: 0 },
      { label: 'negative', score: -0.75 },
    ],
    [
      { label: 'bad', score: 0 },
      { label: 'neutral', score: 1.01 },
    ],
  ),
  row(
    'extraction: recipe',
    closed({
      title: text,
      serves: { ...whole, minimum: 1 },
      ingredients: {
        type: 'array',
        items: closed({
          name: text,
          quantity: { type: ['number', 'null'], exclusiveMinimum: 0 },
          unit: { anyOf: [{ enum: ['g', 'ml', 'piece'] }, { type: 'null' }] },
        }),
        minItems: 1,
      },
      steps: { type: 'array', items: { ...text, minLength: 3 }, minItems: 1 },
    }),
    [
      {
        title: 'x',
        serves: 2,
        ingredients: [
          { name: 'egg', quantity: 2, unit: 'piece' },
          { name: 'salt', quantity: null, unit: null },
        ],
        steps: ['mix'],
      },
    ],
    [
      { title: 'x', serves: 0, ingredients: [{ name: 'egg', quantity: 2, unit: 'piece' }], steps: ['mix'] },
      { title: 'x', serves: 1, ingredients: [], steps: ['mix'] },
    ],
  ),
  row(
    'reasoning: steps and an answer',
    closed({
      steps: { type: 'array', items: closed({ explanation: text, output: text }), maxItems: 8 },
      final_answer: text,
    }),
    [
      { steps: [], final_answer: '' },
      { steps: [{ explanation: 'a', output: 'b' }], final_answer: 'c' },
    ],
    [{ steps: [{}], final_answer: '' }, { steps: [] }],
  ),
  row(
    'reasoning: a verdict about another answer',
    {
      title: 'Verdict',
      description: 'One judgement',
      ...closed({
        better: { enum: ['A', 'B', 'tie'] },
        margin: { ...whole, minimum: 0, maximum: 3 },
        reasons: { type: 'array', items: { ...text, maxLength: 200 }, minItems: 1, maxItems: 3 },
      }),
    },
    [{ better: 'tie', margin: 0, reasons: ['x'] }],
    [
      { better: 'C', margin: 0, reasons: ['x'] },
      { better: 'A', margin: 4, reasons: ['x'] },
    ],
  ),
  row(
    'annotation: an answer of a kind',
    {
      anyOf: [
        { type: 'boolean' },
        { type: 'integer', minimum: 1, maximum: 10 },
        { type: 'string', enum: ['n/a', 'unclear'] },
      ],
    },
    [true, 10, 'n/a'],
    [0, 'x', null],
  ),
]

export const realCases: readonly SchemaCase[] = [...tools, ...resources, ...forms]
