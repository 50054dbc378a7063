import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError, readConfig, serviceLinks, settings, variableOf } from '../../src/config.ts'

test('every setting has a value when nobody sets it, and a sentence', () => {
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

test('a variable of the environment sets it, an empty one does not', () => {
  const config = readConfig({
    HEDDLE_PORT: '0',
    HEDDLE_HOST: '',
    HEDDLE_DOCS: 'off',
    HEDDLE_BODY_LIMIT: '1024',
  })
  assert.deepEqual([config.port, config.host, config.docs, config.body_limit], [0, '127.0.0.1', false, 1024])
})

test('HOST and PORT work too, the names with the prefix win', () => {
  const platform = { HOST: '0.0.0.0', PORT: '9000' }
  const { host, port } = readConfig(platform)
  assert.deepEqual([host, port], ['0.0.0.0', 9000])
  const both = readConfig({ ...platform, HEDDLE_HOST: '::1', HEDDLE_PORT: '9001' })
  assert.deepEqual([both.host, both.port], ['::1', 9001])
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
] as const) {
  test(`refused: ${JSON.stringify(environment)}`, () => {
    assert.throws(
      () => readConfig(environment),
      (error) => error instanceof ConfigError && error.message === message,
    )
  })
}

test('a choice that is none names what can be chosen', () => {
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
    HEDDLE_USERS: ' root:root-secret ,alice:alice-secret:acme, b.o-b_@x:bob-secret:acme+globex,,',
  })
  assert.deepEqual(users, [
    { name: 'root', key: 'root-secret', entities: ['*'] },
    { name: 'alice', key: 'alice-secret', entities: ['acme'] },
    { name: 'b.o-b_@x', key: 'bob-secret', entities: ['acme', 'globex'] },
  ])
})

for (const entry of [
  'alice',
  'alice:',
  'alice:short',
  ':long-secret',
  'api:long-secret',
  'a b:long-secret',
  `${'x'.repeat(65)}:long-secret`,
  'alice:long-secret:',
  'alice:long-secret:acme:more',
]) {
  test(`HEDDLE_USERS: ${entry} is refused, and its key is not told`, () => {
    assert.throws(
      () => readConfig({ HEDDLE_USERS: `root:root-secret,${entry}` }),
      ({ message }: Error) =>
        message.startsWith('HEDDLE_USERS: entry 2: expected name:key or name:key:entity+entity') &&
        !message.includes('secret'),
    )
  })
}

test('the variable of a setting', () => {
  assert.equal(variableOf('max_loop_delay'), 'HEDDLE_MAX_LOOP_DELAY')
})

for (const [users, message] of [
  [
    'a:long-secret,b:other-secret,a:third-secret',
    'entry 3: expected another name and key, the name a is taken by entry 1',
  ],
  ['a:long-secret,b:long-secret', 'entry 2: expected another name and key, the key of a is taken by entry 1'],
  ['a:long-secret,a:long-secret', 'entry 2: expected another name and key, the name a is taken by entry 1'],
] as const) {
  test(`HEDDLE_USERS: nobody is told apart in ${users}`, () => {
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

test('what Kubernetes says of services is no setting', () => {
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
