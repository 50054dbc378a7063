import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  ConfigError,
  changedSettings,
  readConfig,
  serviceLinks,
  settings,
  variableInUse,
  variableOf,
} from '../../src/config.ts'

test('every setting has a default and a description', () => {
  const config = readConfig({})
  assert.deepEqual(Object.keys(config), Object.keys(settings))
  for (const [name, { meaning }] of Object.entries(settings)) {
    assert.notEqual(config[name as keyof typeof config], undefined, name)
    assert.match(meaning, /^[A-Z].*\.$/s, name)
  }
  assert.deepEqual(
    { host: config.host, port: config.port, users: config.users, docs: config.docs },
    { host: '127.0.0.1', port: 8080, users: [], docs: true },
  )
})

test('an environment variable changes a setting, an empty one does not', () => {
  const config = readConfig({
    HEDDLE_PORT: '0',
    HEDDLE_HOST: '',
    HEDDLE_DOCS: 'off',
    HEDDLE_BODY_LIMIT: '1024',
  })
  assert.deepEqual([config.port, config.host, config.docs, config.body_limit], [0, '127.0.0.1', false, 1024])
})

test('HOST and PORT are accepted, and HEDDLE_HOST and HEDDLE_PORT take precedence', () => {
  const platform = { HOST: '0.0.0.0', PORT: '9000' }
  const { host, port } = readConfig(platform)
  assert.deepEqual([host, port], ['0.0.0.0', 9000])
  const both = readConfig({ ...platform, HEDDLE_HOST: '::1', HEDDLE_PORT: '9001' })
  assert.deepEqual([both.host, both.port], ['::1', 9001])
})

test('the settings of the model: defaults and accepted values', () => {
  const { model, model_name, context, parallel, threads, batch, queue, priority, request_templates } =
    readConfig({})
  assert.deepEqual(
    { model, model_name, context, parallel, threads, batch, queue, priority, request_templates },
    {
      model: 'builtin',
      model_name: [],
      context: 0,
      parallel: 0,
      threads: 0,
      batch: 0,
      queue: 256,
      priority: false,
      request_templates: true,
    },
  )
  for (const given of [
    'none',
    './m.gguf',
    '/a b/m.gguf',
    'C:\\m.gguf',
    'hf:a/b',
    'hf:a.b/c-d:Q4_K_M',
    'hf:a/b:x/y.gguf',
  ]) {
    assert.equal(readConfig({ HEDDLE_MODEL: given }).model, given)
  }
  assert.deepEqual(readConfig({ HEDDLE_MODEL_NAME: ' a , org/b:c ' }).model_name, ['a', 'org/b:c'])
  const hub = readConfig({ HF_ENDPOINT: 'https://mirror/', HF_TOKEN: 'x', HEDDLE_HF_TOKEN: 'y' })
  assert.deepEqual([hub.hf_endpoint, hub.hf_token], ['https://mirror', 'y'])
})

for (const [environment, message] of [
  [{ HEDDLE_PORT: '65536' }, 'HEDDLE_PORT: expected 0 to 65535, given "65536"'],
  [{ HEDDLE_PORT: '-1' }, 'HEDDLE_PORT: expected a whole number, given "-1"'],
  [{ PORT: 'http' }, 'PORT: expected a whole number, given "http"'],
  [{ HEDDLE_BODY_LIMIT: '1e6' }, 'HEDDLE_BODY_LIMIT: expected a whole number, given "1e6"'],
  [{ HEDDLE_BODY_LIMIT: '1023' }, 'HEDDLE_BODY_LIMIT: expected 1024 to 1073741824, given "1023"'],
  [{ HEDDLE_DATABASE_URL: 'mysql://x' }, 'HEDDLE_DATABASE_URL: expected postgres://…'],
  [{ HEDDLE_COLOUR: 'red' }, 'HEDDLE_COLOUR: there is no such setting; docs/configuration.md lists them'],
  [
    { HEDDLE_PORT: 'x', HEDDLE_GRACE: 'y' },
    'HEDDLE_PORT: expected a whole number, given "x"\nHEDDLE_GRACE: expected a whole number, given "y"',
  ],
  [{ HEDDLE_MODEL: 'hf:acme' }, 'HEDDLE_MODEL: expected hf:<org>/<repo>[:<quant or file>], given "hf:acme"'],
  [{ HEDDLE_MODEL: 'hf:../x' }, 'HEDDLE_MODEL: expected hf:<org>/<repo>[:<quant or file>], given "hf:../x"'],
  [
    { HEDDLE_MODEL: 'https://example.com/m.gguf' },
    'HEDDLE_MODEL: expected builtin, none, hf:<org>/<repo>[:<quant or file>], the path of a .gguf file or https://<host>/v1 of another server, without a user, a query or a fragment in it, given "https://example.com/m.gguf"',
  ],
  [
    { HEDDLE_MODEL_NAME: 'a,a' },
    'HEDDLE_MODEL_NAME: expected different names, comma-separated, without spaces, of at most 256 characters, given "a,a"',
  ],
  [{ HEDDLE_PARALLEL: '257' }, 'HEDDLE_PARALLEL: expected 1 to 256, or 0 to have it chosen, given "257"'],
  [{ HEDDLE_CONTEXT: '-1' }, 'HEDDLE_CONTEXT: expected a whole number, given "-1"'],
  ...['0', 'all', '10.0.0.0/33', '10.0.0.0/0', '10.0.0.7/8/8', '::1/129', 'loopback,proxy.internal'].map(
    (given) =>
      [
        { HEDDLE_TRUST_PROXY: given },
        `HEDDLE_TRUST_PROXY: expected how many proxies there are, 1 to 9, or their addresses: 10.0.0.7, 10.0.0.0/8, loopback, private, given "${given}"`,
      ] as const,
  ),
  [{ HF_TOKEN: 'a b' }, 'HF_TOKEN: expected a token without spaces'],
  [{ HF_ENDPOINT: 'hub' }, 'HF_ENDPOINT: expected https://…, given "hub"'],
] as const) {
  test(`refused: ${JSON.stringify(environment)}`, () => {
    assert.throws(
      () => readConfig(environment),
      (error) => error instanceof ConfigError && error.message === message,
    )
  })
}

test('a mistyped setting is refused with a suggestion', () => {
  for (const [given, meant] of Object.entries({
    HEDDLE_PROT: 'HEDDLE_PORT',
    HEDDLE_LOGLEVEL: 'HEDDLE_LOG_LEVEL',
    HEDDLE_DATABASE: 'HEDDLE_DATABASE_URL',
    HEDDLE_DATA_DIR: 'HEDDLE_DATA',
    HEDDLE_MAX_CONTEXT: 'HEDDLE_CONTEXT',
    HEDDLE_USER: 'HEDDLE_USERS',
    HEDDLE_GPU_LAYER: 'HEDDLE_GPU_LAYERS',
  })) {
    assert.throws(
      () => readConfig({ [given]: '1' }),
      ({ message }: Error) => message === `${given}: there is no such setting; did you mean ${meant}?`,
    )
  }
})

test('messages name the environment variable that is in use', () => {
  assert.equal(variableInUse('port', {}), 'HEDDLE_PORT')
  assert.equal(variableInUse('port', { PORT: '1' }), 'PORT')
  assert.equal(variableInUse('port', { PORT: '1', HEDDLE_PORT: '2' }), 'HEDDLE_PORT')
  assert.equal(variableInUse('port', { PORT: '1', HEDDLE_PORT: 'tcp://10.0.0.1:80' }), 'PORT')
})

test('an unknown choice is refused with the list of choices', () => {
  for (const [variable, choices] of [
    ['HEDDLE_DOCS', ['on', 'off']],
    ['HEDDLE_LOG_LEVEL', ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']],
  ] as const) {
    assert.throws(
      () => readConfig({ [variable]: 'loud' }),
      ({ message }: Error) =>
        message.startsWith(`${variable}: `) && choices.every((choice) => message.includes(choice)),
    )
  }
})

test('HEDDLE_USERS: names, keys and entities', () => {
  const { users } = readConfig({
    HEDDLE_USERS:
      ' root:the-secret-key-of-root ,alice:the-secret-key-of-alice:acme, b.o-b_@x:the-secret-key-of-bob:acme+globex,,',
  })
  assert.deepEqual(users, [
    { name: 'root', key: 'the-secret-key-of-root', entities: ['*'] },
    { name: 'alice', key: 'the-secret-key-of-alice', entities: ['acme'] },
    { name: 'b.o-b_@x', key: 'the-secret-key-of-bob', entities: ['acme', 'globex'] },
  ])
})

for (const entry of [
  'alice',
  'alice:',
  ':a-long-enough-secret',
  'api:a-long-enough-secret',
  'a b:a-long-enough-secret',
  '..:a-long-enough-secret',
  `${'x'.repeat(65)}:a-long-enough-secret`,
  'alice:a-long-enough-secret:',
  'alice:a-long-enough-secret:acme:more',
]) {
  test(`HEDDLE_USERS: ${entry} is refused, and its key is not shown`, () => {
    assert.throws(
      () => readConfig({ HEDDLE_USERS: `root:the-secret-key-of-root,${entry}` }),
      ({ message }: Error) =>
        message.startsWith('HEDDLE_USERS: entry 2: expected name:key or name:key:entity+entity') &&
        !message.includes('secret'),
    )
  })
}

test('HEDDLE_USERS: a key that could be guessed is refused and not shown', () => {
  const short = 'x'.repeat(19)
  assert.equal(readConfig({ HEDDLE_USERS: `a:${short}y` }).users.length, 1)
  assert.throws(() => readConfig({ HEDDLE_USERS: `root:the-secret-key-of-root,alice:${short}` }), {
    name: 'ConfigError',
    message:
      'HEDDLE_USERS: entry 2: the key of alice has 19 characters and could be guessed; expected at least 20, such as `openssl rand -hex 24` prints',
  })
})

test('the environment variable of a setting', () => {
  assert.equal(variableOf('max_loop_delay'), 'HEDDLE_MAX_LOOP_DELAY')
})

for (const [users, message] of [
  ...['acme+', '..', 'acme+.', 'a/b'].map((entities) => [
    `a:a-long-enough-secret:${entities}`,
    'entry 1: expected the names of entities after the key of a, with + between them, or * for all',
  ]),
  [
    'a:a-long-enough-secret,b:another-long-enough-secret,a:the-third-long-secret',
    'entry 3: expected another name and key, the name a is taken by entry 1',
  ],
  [
    'a:a-long-enough-secret,b:a-long-enough-secret',
    'entry 2: expected another name and key, the key of a is taken by entry 1',
  ],
  [
    'a:a-long-enough-secret,a:a-long-enough-secret',
    'entry 2: expected another name and key, the name a is taken by entry 1',
  ],
] as const) {
  test(`HEDDLE_USERS: ${users} is refused`, () => {
    assert.throws(
      () => readConfig({ HEDDLE_USERS: users }),
      (error) => error instanceof ConfigError && error.message === `HEDDLE_USERS: ${message}`,
    )
  })
}

const links = {
  HEDDLE_SERVICE_HOST: '10.0.0.1',
  HEDDLE_SERVICE_PORT: '8080',
  HEDDLE_SERVICE_PORT_HTTP: '8080',
  HEDDLE_PORT: 'tcp://10.0.0.1:8080',
  HEDDLE_PORT_8080_TCP: 'tcp://10.0.0.1:8080',
  HEDDLE_PORT_8080_TCP_PROTO: 'tcp',
  HEDDLE_PORT_8080_TCP_PORT: '8080',
  HEDDLE_PORT_8080_TCP_ADDR: '10.0.0.1',
  HEDDLE_DB_SERVICE_HOST: '10.0.0.2',
  HEDDLE_DB_PORT: 'tcp://10.0.0.2:5432',
}

test('service variables of Kubernetes are not taken for settings', () => {
  const others = { HEDDLE_GRACE: '5', SERVICE_HOST: 'x', PATH: '/bin' }
  assert.deepEqual(serviceLinks({ ...others, ...links }), Object.keys(links))
  assert.equal(readConfig({ ...links, HEDDLE_GRACE: '5' }).grace, 5)
  assert.equal(readConfig(links).port, 8080)
  assert.equal(readConfig({ ...links, PORT: '9000' }).port, 9000)
  for (const name of ['HEDDLE_SERVICE', 'HEDDLE_PORT_8080', 'HEDDLE_DB_PORT']) {
    assert.throws(
      () => readConfig({ [name]: '8080' }),
      ({ message }: Error) => message.startsWith(`${name}: `),
    )
  }
})

test('the direct address of a database comes with that of its pooler, and is shown without its password', () => {
  const direct = { HEDDLE_DATABASE_DIRECT_URL: 'postgres://a:secret@db/heddle' }
  const alone = /^ConfigError: HEDDLE_DATABASE_URL: given nothing together with HEDDLE_DATABASE_DIRECT_URL/
  assert.throws(() => readConfig(direct), alone)
  const config = readConfig({ ...direct, HEDDLE_DATABASE_URL: 'postgres://pooler/heddle' })
  assert.equal(changedSettings(config).database_direct_url, 'postgres://[redacted]@db/heddle')
})
