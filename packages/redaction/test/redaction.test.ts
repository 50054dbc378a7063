import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { createRedactor, type Kind, kinds, PatternError, patternFinder, type Redaction } from '../index.ts'

const redactorOf = (redaction: Redaction = { kinds }) => createRedactor({ ...redaction, secret: 'secret' })
const { text } = redactorOf()

const hex = (count: number) => '0a1b2c3d'.repeat(8).slice(0, count)
const mixed = (count: number) => 'aB3dE5gH'.repeat(40).slice(0, count)
const uuid = '0a1b2c3d-4e5f-4a7b-8c9d-0a1b2c3d4e5f'
/** Each in two pieces, so that no scanner of sources takes one for a key. */
const newerKeys = [
  ['EAAA', mixed(60)],
  ['sq0atp-', mixed(22)],
  ['sq0csp-', mixed(43)],
  ['key-', hex(32)],
  [hex(32), '-0a1b2c3d-4e5f6a7b'],
  ['sgp_', hex(40)],
  ['sgp_', `${hex(16)}_${hex(40)}`],
  ['sgp_', `local_${hex(40)}`],
  ['slk_', hex(64)],
  ['dp.pt.', mixed(43)],
  ['dp.st.', `dev_eu.${mixed(43)}`],
  ['pat', `${mixed(14)}.${hex(64)}`],
  ['sbp_', hex(40)],
  ['sbp_', `v0_${hex(40)}`],
  ['sb_secret_', mixed(31)],
  ['hf_', mixed(34)],
  ['api_org_', mixed(34)],
  ['dapi', hex(32)],
  ['dapi', `${hex(32)}-2`],
  ['dose', hex(32)],
  ['dop_v1_', hex(64)],
  ['doo_v1_', hex(64)],
  ['dor_v1_', hex(64)],
  ['npm_', mixed(36)],
  ['pypi-', `AgEIcHlwaS5vcmc${mixed(120)}`],
  ...['pat', 'ptt', 'dt', 'rt', 'rtr', 'ft', 'soat', 'agent', 'imt', 'oas', 'ffct', 'wt'].map((name) => [
    `gl${name}-`,
    mixed(20),
  ]),
  ['glcbt-', `64_${mixed(20)}`],
  ['glpat-', `${mixed(27)}.01.0w1a2b3c4`],
  ['GR1348941', mixed(20)],
  ['ATCTT3', `xFfG${mixed(150)}=0A1B2C3D`],
  ['ATBB', `${mixed(24)}0A1B2C3D`],
  ['lin_oauth_', hex(64)],
  ['secret_', mixed(43)],
  ['PMAT-', mixed(26).toUpperCase()],
  ['glc_', `eyJv${mixed(80)}==`],
  ['eyJrIjoi', `${mixed(80)}=`],
  ['NRAK-', mixed(27).toUpperCase()],
  ['NRII-', mixed(32)],
  [`${hex(32)}FFFF`, 'NRAL'],
  ['eu01xx', `${hex(30)}NRAL`],
  ['pscale_tkn_', mixed(43)],
  ['pscale_pw_', mixed(43)],
  ['vcp_', mixed(56)],
  ['vercel_blob_rw_', `${mixed(16)}_${mixed(32)}`],
  ['shpca_', hex(32)],
  ['shpss_', hex(32)],
  ['MTIzNDU2Nzg5MDEyMzQ1Njc4', `.GaB3dE.${mixed(38)}`],
  ['MTIzNDU2Nzg5MDEyMzQ1Njc4OQ', `.GaB3dE.${mixed(38)}`],
  ['sk-', 'aB3dE-gH1jK_m4pQ-sT6vX'],
  ['IQoJb3JpZ2luX2Vj', mixed(300)],
  ['ABSK', `${mixed(128)}=`],
  ['1//03', mixed(90)],
  ...['pcsk_', 'tgp_v1_', 'wandb_v1_', 'duffel_live_', 'CFPAT-', 'HRKU-AA', 'pa-'].map((name) => [
    name,
    `${mixed(20)}_${mixed(30)}`,
  ]),
  ['CCIPAT_', `${mixed(22)}_${hex(40)}`],
  ...['rubygems', 'e2b', 'bkua', 'sqp', 'shippo_live', 'napi', 'pnu', 'nfp', 'phx', 'jina', 'cfut'].map(
    (name) => [`${name}_`, mixed(40)],
  ),
  ['aio_', mixed(28)],
  ['fw_', mixed(24)],
  ['re_', `${mixed(8)}_${mixed(24)}`],
  ['sk_', hex(48)],
  ['fc-', hex(32)],
  ['pul-', hex(40)],
  [hex(32), '-us14'],
  ['xkeysib-', `${hex(64)}-${mixed(16)}`],
  ['dt0c01.', `${mixed(24)}.${mixed(64)}`.toUpperCase()],
  [mixed(14), `.atlasv1.${mixed(67)}`],
  ['LTAI', mixed(20)],
  ['AKID', mixed(32)],
  ['AQVN', mixed(36)],
  ['AKCp', mixed(69)],
  ['EZAK', mixed(54)],
  ['sl.u.', mixed(130)],
  ['sk.eyJ', `${mixed(60)}.${mixed(22)}`],
  ['ops_eyJ', mixed(250)],
  ['fm2_', mixed(120)],
  ['sha256~', mixed(43)],
  ['v1.0-', `${hex(24)}-${hex(64)}${hex(64)}${hex(18)}`],
  ['FLWSECK-', `${hex(32)}-X`],
  ['oy2', 'ab2c3d4'.repeat(7).slice(0, 43)],
  ['cio', mixed(32)],
  [mixed(52), `JQQJ99${mixed(26)}`],
  [mixed(76), 'AZDOaB3d'],
  ['EAAC', `EdEose0cBA${mixed(90)}`],
  ['123456789012345', `|${mixed(27)}`],
  ['sq0idp-', mixed(22)],
  ['access_token$', `production$${hex(16)}$${hex(32)}`],
  ['A21AA', mixed(90)],
  ...[
    'amzn.mws.',
    'sdk-',
    'api-',
    'mob-',
    'rh-api-',
    'access-production-',
    'pat-na1-',
    'sec-c-',
    'sk_test_',
  ].map((name) => [name, uuid]),
  ['amzn1.oa2-cs.v1.', hex(64)],
  ['Atza|', mixed(120)],
  ['1/12', `34567890123456:${hex(32)}`],
  ['2/12', `34567890123456/1234567890123456:${hex(32)}`],
  ['live_', hex(35)],
  ['test_pub_', hex(31)],
  ['live_', mixed(40)],
  ['t-', mixed(40)],
  ['SCW', 'A1B2C3D4E5F6G7H8I'],
  ['st.', `${hex(24)}.${hex(32)}.${hex(32)}`],
  ['fio-u-', mixed(64)],
  ['tfp_', `${mixed(44)}_${mixed(14)}`],
  ['p8e-', mixed(32)],
  ['A3-', 'ABC123-DEF456GHI78-JKL90-MNO12-PQR34'],
  ['cmVmd', `Gtu${mixed(56)}`],
  ['4b1d', mixed(38)],
  ['A3TX', mixed(16).toUpperCase()],
  ['bedrock-api-key-', `YmVkcm9jay5hbWF6b25hd3MuY29t${mixed(60)}`],
  ['sc_', `${hex(10)}.${hex(5)}.acc-${hex(20)}.${mixed(40)}`],
  ['dnkey-', `${mixed(26)}-${mixed(52)}`],
  ['pat.', `${mixed(22)}.${mixed(24)}.${mixed(20)}`],
  ['FLWSECK_TEST-', `${hex(32)}-X`],
  ['fm1r_', mixed(100)],
  ['fo1_', mixed(43)],
  ['ico-', mixed(32)],
  ['API-', mixed(26).toUpperCase()],
  ['sm_pat_', mixed(16)],
  ['rzp_live_', mixed(14)],
  ['y0_', mixed(56)],
  ['YC', mixed(38)],
  ['s-s4t2ud-', hex(64)],
  ['tk-us-', mixed(48)],
  ['A'.repeat(22), `${mixed(40)}%2F${mixed(40)}`],
  ['123456789012345678-', mixed(40)],
  ['1000.', `${hex(32)}.${hex(32)}`],
  [mixed(6), `_${mixed(29)}_mmk`],
  ['s.', mixed(24)],
  ['t1.', `${mixed(40)}.${mixed(86)}`],
  ['00D', `${mixed(12)}!${mixed(96)}`],
  ['3MVG9', mixed(85)],
  ['signkey-', `prod-${hex(64)}`],
  ['ak-', mixed(22)],
  ['tskey-auth-', `${mixed(16)}-${mixed(32)}`],
  ['hooks.zapier.com/hooks/', 'catch/1234567/ab2c3d4'],
  ['secret-test-', `${mixed(36)}=`],
  ['BBDC-', mixed(44)],
  ['pk_', `1234567_${mixed(32).toUpperCase()}`],
  ['pi_', `${mixed(24)}_secret_${mixed(25)}`],
  ['sk_prod_', mixed(24)],
  ...['apify_api', 'ramp_sec', 'rootly', 'ddp', 'zpka', 'rpa', 'bb_live', 'cfk'].map((name) => [
    `${name}_`,
    mixed(36),
  ]),
  ['LS0tLS1CRUdJTiB', `SU0E${mixed(60)}`],
  ['ZXlKaGJHY2lPaU', mixed(60)],
  ['webhook.office.com/webhookb2/', `${mixed(36)}@${mixed(36)}/IncomingWebhook/${hex(32)}/${mixed(36)}`],
].map((pieces) => pieces.join(''))

/** One sign too short, without what marks them, or inside of a longer word. */
const nearKeys = [
  ...['EAAA', 'sq0csp-', 'key-', 'sgp_', 'slk_', 'dp.pt.', 'sbp_', 'sb_secret_', 'doo_v1_', 'NRII-'].map(
    (name) => `${name}${mixed(14)}`,
  ),
  `pat${mixed(14)}.${hex(63)}`,
  `monkey-${hex(32)}`,
  `${hex(32)}-0a1b2c3d-4e5f6a7b-${hex(12)}`,
  `00-${hex(32)}-${hex(16)}-01`,
  `secret_${mixed(42)}`,
  `pscale_${mixed(43)}`,
  `MTIzNDU2Nzg5MDEyMzQ1Njc4.toString.${mixed(20)}`,
  `NotificationSubscription.create.${mixed(30)}`,
  'PuTTY-User-Key-File is the first line',
  're_compile_pattern_for_searching_2, fw_update_firmware_status_2, sk_buff_head_init_class_v2_of_netlink',
  'e2b_sandbox_template_created_at_2025_long, pa-configuration-of-the-project-x-in-2024-and-later',
  'duffel_live_stream_of_the_program_in_2024_and_later, jina_embeddings_v3_text_matching, fc-cache-2024',
  'st.session_state, sl.update.configuration, sha256~, v1.0-alpha, http://a//0b/c, cioppino, oy2',
  `sdk-${uuid}-x, job-${uuid}, 4b1d${hex(38)}, t-${hex(40)}, live_streaming_of_the_conference_in_2024_x`,
  'pk_live_, xoxb-your-token, sk-your-api-key-in-2024-goes-here, AKIAXXXXXXXXXXXXXXXX, s.replaceAllOccurrencesOf1()',
  `ghp_${'x'.repeat(36)}, ak-toggle-container-element-1, API-DOCUMENTATION-2024`,
  'key-value-store-of-the-project, dp.pt.is-no-token, vcp_setting, glc_grafana, eu01xx',
]

const examples: Record<Kind, readonly string[]> = {
  email: [
    'ada@example.com',
    'Ada.L+x@mail.example.co.uk',
    'ada%40example.com',
    'jürgen@müller.example',
    'иван.1@пример.рф',
    'ирина@example.com',
    'ada%2540example.com',
    'ada&#64;example.com',
    'ada＠example.com',
    'ａｄａ@example.com',
    '"ada lovelace"@example.com',
    'ada@[192.168.2.1]',
    'ada@[IPv6:2001:db8::1]',
    'ada%40%5BIPv6%3A2001%3Adb8%3A%3A1%5D',
    'j%C3%B6rg%40b%C3%BCcher.example',
  ],
  phone: [
    '+49 30 1234567',
    '+1-202-555-0123',
    '0049 (30) 123456-7',
    '(202) 555-0123',
    '(555) 123-4567',
    '555.123.4567',
    '202-555-0123',
    '1-800-555-0199',
    '+1-202-555-0123x45',
    '+49\u202f30\u20111234567',
    '%2B12025550123',
    '\\u002B12025550123',
    '+１２０２５５５０１２３',
    '+٤٤٢٠٧٩٤٦٠٩٥٨',
    '+९१२०७९४६०९५८',
    '212.555.0187',
    '1.212.555.0187',
    '%252B12025550123',
    '212－555－0187',
  ],
  card: [
    '4111111111111111',
    '4111 1111 1111 1111',
    '5555-5555-5555-4444',
    '378282246310005',
    '6011111111111117',
    '3566002020360505',
    '30569309025904',
    '2223003122003222',
    '2200000000000004',
    '4111\u202f1111\u202f1111\u202f1111',
    '4111\u20111111\u20111111\u20111111',
    '４１１１１１１１１１１１１１１１',
    '۴۱۱۱۱۱۱۱۱۱۱۱۱۱۱۱',
    '4111.1111.1111.1111',
    '3782.822463.10005',
    '4111－1111－1111－1111',
  ],
  iban: [
    'DE89370400440532013000',
    'DE89 3704 0044 0532 0130 00',
    'GB82WEST12345698765432',
    'no9386011117947',
    'DE89-3704-0044-0532-0130-00',
    'DE89\u202f3704\u202f0044\u202f0532\u202f0130\u202f00',
  ],
  key: [
    `sk-ant-api03-${'Ab1_'.repeat(4)}AAAAAAAAAAAAAAAA-x`,
    `sk-proj-${'aB3'.repeat(16)}`,
    'AKIAIOSFODNN7EXAMPLE',
    `ghp_${'a1B2'.repeat(9)}`,
    `github_pat_${'a1'.repeat(20)}`,
    `AIza${'aB-_5'.repeat(7)}`,
    'xoxb-123456789012-abcdef',
    `sk_live_${'a1'.repeat(12)}`,
    `SK${'0a1b'.repeat(8)}`,
    `a1B8Q~${'aB1-'.repeat(9)}`,
    `AQ.Ab8${'aB1-'.repeat(10)}`,
    `glptt-${'0a1b'.repeat(10)}`,
    `xoxd-${'aB1'.repeat(12)}`,
    `ATATT3${'xF_'.repeat(40)}=0A1B2C3D`,
    `ntn_${'a1B2'.repeat(11)}`,
    `glsa_${'aB1c'.repeat(8)}_0a1b2c3d`,
    `sntrys_${'eyJ1'.repeat(20)}`,
    `PMAK-${'0a1b'.repeat(6)}-${'0a'.repeat(17)}`,
    `figd_${'aB-1'.repeat(10)}`,
    'sk-lf-01234567-89ab-4def-8123-456789abcdef',
    `GOCSPX-${'aB-1'.repeat(7)}`,
    `hooks.slack.com/services/T0123/B0123/${'aB1'.repeat(8)}`,
    `hooks.slack.com\\/services\\/T0123\\/B0123\\/${'aB1'.repeat(8)}`,
    `hvs.${'aB1_'.repeat(8)}`,
    `lsv2_pt_${'0a'.repeat(16)}_0123456789`,
    `discord.com/api/webhooks/123456789012345678/${'aB1-'.repeat(17)}`,
    `AGE-SECRET-KEY-1${'QA'.repeat(29)}`,
    `123456789:AA${'aB-_1'.repeat(6)}abc`,
    `bot1234567890:AA${'aB-_1'.repeat(6)}abc`,
    `hdl_${'aB-_1'.repeat(8)}abc`,
    ...newerKeys,
  ],
  token: [
    `eyJ${'a'.repeat(17)}.eyJ${'b'.repeat(20)}.${'c-_'.repeat(9)}`,
    `eyJ${'a'.repeat(17)}..${'b'.repeat(16)}.${'c'.repeat(14)}.${'d'.repeat(12)}`,
  ],
  private_key: [
    '-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----',
    '---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nMIIEow\n---- END SSH2 ENCRYPTED PRIVATE KEY ----',
    '-----BEGIN PGP PRIVATE KEY BLOCK-----\nMIIEow\n-----END PGP PRIVATE KEY BLOCK-----',
    `PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nPrivate-Lines: 1\nAAAAI\nPrivate-MAC: ${hex(64)}`,
  ],
}

test('every kind is found wherever it stands, and its marker says which it was', () => {
  for (const [kind, values] of Object.entries(examples)) {
    for (const value of values) {
      for (const [before, after] of [
        ['', ''],
        ['call ', ', please'],
        ['("', '")'],
        ['line\n', '\nline'],
        ['a: ', '.'],
        ['\u001b[1;32m', '\u001b[0m'],
      ]) {
        assert.equal(text(`${before}${value}${after}`), `${before}[${kind}]${after}`, value)
      }
    }
  }
  assert.equal(text('Authorization: Bearer abcdef0123456789'), 'Authorization: Bearer [token]')
  assert.equal(text('Authorization=Bearer%20abcdef0123456789'), 'Authorization=Bearer%20[token]')
  assert.equal(text('Authorization%3A%20Bearer%20abcdef0123456789'), 'Authorization%3A%20Bearer%20[token]')
  const azure = `${'aB/+1'.repeat(17)}a==`
  assert.equal(text(`AccountName=a;AccountKey=${azure};x=1`), 'AccountName=a;AccountKey=[key];x=1')
  assert.equal(text(`AccountKey%3D${encodeURIComponent(azure)}%3B`), 'AccountKey%3D[key]%3B')
  assert.equal(text(`SharedAccessKey=${azure}`), 'SharedAccessKey=[key]')
  assert.equal(text('tel%3A%2B12025550123&a=1'), 'tel%3A[phone]&a=1')
  assert.equal(text('card%3D4111111111111111'), 'card%3D[card]')
  for (const sign of ['%20', '%22', '%26', '%2520']) {
    assert.equal(text(`n${sign}4111111111111111${sign}`), `n${sign}[card]${sign}`)
    assert.equal(text(`n${sign}DE89370400440532013000`), `n${sign}[iban]`)
    assert.equal(text(`n${sign}AKIAABCDEFGHIJKLMNOP${sign}`), `n${sign}[key]${sign}`)
  }
  assert.equal(text('Ｎｏ－4111111111111111'), 'Ｎｏ－[card]')
  assert.equal(text('张三（客户）+86 138 0013 8000，2楼'), '张三（客户）[phone]，2楼')
  assert.equal(text('项目1．+86 138 0013 8000'), '项目1．[phone]')
  assert.equal(
    text('https://example.com，电话：010，邮箱：ada@example.com'),
    'https://example.com，电话：010，邮箱：[email]',
  )
  assert.equal(text('postgres://ada:hunter2@db/x'), 'postgres://ada:[token]@db/x')
  assert.equal(text('postgres://ada:hunter@2@db/x'), 'postgres://ada:[token]@db/x')
  assert.equal(text('http://u:secret@h?x=b@c'), 'http://u:[token]@h?x=b@c')
  assert.equal(text('(http://u:secret@h:80),(@b)'), '(http://u:[token]@h:80),(@b)')
  assert.equal(text(`"SecretAccessKey": "${'aB/+1'.repeat(8)}"`), '"SecretAccessKey": "[key]"')
  assert.equal(text(`key_${examples.token[0]}`), 'key_[token]')
  assert.equal(text(`Basic ${btoa('ada:aaaaaaaaa')}`), 'Basic [token]')
  for (const name of ['?sig', '&password', '&amp;access_token', '\\u0026X-Amz-Signature', ';api_key'])
    assert.equal(text(`http://a.b/c?d=1${name}=ab12-cd34%3D&e=1`), `http://a.b/c?d=1${name}=[token]&e=1`)
  assert.equal(text(`PrivateKey = ${'aB/+1'.repeat(8)}abc=`), 'PrivateKey = [key]')
  assert.equal(text('+12025550123 -1 +4930123456 - 7'), '[phone] -1 [phone] - 7')
  assert.equal(text('-----BEGIN PRIVATE KEY-----\nMIIEow cut'), '[private_key]')
  // Where words have no spaces between them, only the address is one.
  assert.equal(text('请写信给ada@example.com谢谢'), '请写信给[email]谢谢')
  assert.equal(text('用户@例子.公司'), '[email]')
})

const random = 'k3J9x2Qw8Zr5Tn7Bv1Lm'
const password = 'Tr0ub4dor&3'

/** `#` stands for what is private. */
const named: Partial<Record<Kind, readonly (readonly [secret: string, ...texts: string[]])[]>> = {
  phone: [
    [
      '0171 1234567',
      'Tel.: #',
      'mobile #, home',
      'my phone number is #.',
      '"phoneNumber": "#"',
      'WhatsApp=#',
    ],
    ['(020) 7946 0958', 'Fax #', 'phone no. #'],
    ['06 12 34 56 78', 'customer_phone: #', 'téléphone : #'],
    ['5551234567', 'phone=#&name=x'],
  ],
  key: [
    ['0a'.repeat(20), 'wandb login #', 'wandb.login(key="#")', 'wandb login --relogin #'],
    [
      random,
      'x-api-key: #',
      'X-API-KEY: #',
      "curl -H 'x-api-key: #' https://a.b",
      'export OPENAI_KEY=#',
      'Client(api_key="#", timeout=3)',
      '{ apiKey: "#", region: "eu" }',
      '**API key:** `#`',
      '| API_KEY | # |',
      'my api key is #',
      'the Stripe key is #',
      'Azure key: #',
      'tool --api-key # --x',
      '- name: API_KEY\n  value: #',
      'ENCRYPTION_KEY_1 := `#`',
      "SECRET_KEY_BASE ?= '#'",
    ],
    [`/${mixed(39)}`, 'aws_secret_access_key = #', 'SecretAccessKey   #'],
    [`0x${hex(64)}`, 'PRIVATE_KEY=#'],
  ],
  token: [
    [
      random,
      'Authorization: Token #',
      'AUTHORIZATION: #',
      'Authorization: SSWS #',
      'Authorization: AWS4-HMAC-SHA256 SignedHeaders=host, Signature=#',
      'PRIVATE-TOKEN: #',
      '//packages.example.com/:_authToken=#',
      'var appToken: string = "#"',
      'var appToken string = "#"',
      '$appToken .= "#"',
      '"appToken" => "#"',
      'System.setProperty("APP_TOKEN", "#")',
      '<appToken>\n    #\n</appToken>',
      'mySecretString=#',
      'creds = #',
      'token=none&client_secret=#&x=1',
    ],
    [
      password,
      'DB_PASSWORD=#',
      'password: #, thanks',
      'The password is #',
      "auth: { user: 'a', pass: '#' }",
      'jdbc:sqlserver://h:1433;user=u;password=#;encrypt=true',
      'Server=h;Uid=u;Pwd=#;',
      '<add key="Password" value="#" />',
      '<password>#</password>',
      'machine h login ada password #',
      'curl -u ada:# https://a.b',
      'username=\\"a\\" password=\\"#\\"',
    ],
    ['123456', 'password=#'],
    [mixed(600), 'AWS_SESSION_TOKEN=#', '"sessionToken": "#"'],
    ['sid=31d4d96e407aad42; theme=dark', 'Cookie: #', 'Set-Cookie: #', "curl -H 'Cookie: #' https://a.b"],
  ],
}

test('what only its name tells of is found by it, as far as it goes', () => {
  const { json } = redactorOf()
  for (const [kind, rows] of Object.entries(named)) {
    for (const [secret, ...texts] of rows) {
      for (const form of texts) {
        const [before, after] = [form.replace('#', secret), form.replace('#', `[${kind}]`)]
        assert.equal(text(before), after)
        assert.equal(text(after), after, 'what was replaced stays')
        const within = (value: string) => JSON.stringify({ args: JSON.stringify({ value }) })
        assert.equal(json(within(before), 'inputs'), within(after))
      }
    }
  }
  for (const [of, kind] of [
    [(value: string) => ({ headers: [['x-api-key', value]], n: 1 }), 'key'],
    [(value: string) => ({ 'x-auth-token': [value] }), 'token'],
    [(value: string) => [{ name: 'API_KEY', value }], 'key'],
    [(value: string) => ({ headers: { Authorization: `Token ${value}` } }), 'token'],
  ] as const)
    assert.equal(json(JSON.stringify(of(random)), 'inputs'), JSON.stringify(of(`[${kind}]`)))
  assert.equal(
    json('{"phone": 5551234567, "n": 5551234567}', 'inputs'),
    '{"phone": "[phone]", "n": 5551234567}',
  )
})

test('a kind that is not chosen stays', () => {
  const { text: only, counts } = redactorOf({ kinds: ['email'] })
  assert.equal(only('ada@example.com 4111111111111111'), '[email] 4111111111111111')
  assert.deepEqual(counts(), { email: 1 })
  assert.deepEqual(counts(), {})
})

test('texts that only look like it stay as they are', () => {
  const harmless = [
    'P/N 001-47880-06, #008-2090098-7903128, +36.522286 +110.5549745, +74736 -34864, +12345-67, ?api_key={key2024}&sig=&password=<password1>',
    'Basic AuthenticationProviderFactory, Basic Electronics for Everyone, &token=abcdefgh12, ?page_sig=12345678',
    'logo@2x.png, photo@3x.jpeg, 1–3, 2000–2010, 100–200–3000',
    '+100 000–200 000, +12\u202f345\u202f678 habitants',
    'hvs.CreateSomethingVeryLongNamedHere, tvly-configuration-setting-name-thing',
    'git@github.com:acme/qa.git, pkg@1.2.3, @scope/name@2.0.0, image@sha256:0123',
    '4111111111111112 and 1234567812345678 fail the check digit',
    'DE88370400440532013000 fails its check digits',
    '2026-11-27T07:21:21.123456+01:00, 1764227481123456789, 1764227481123',
    '$12,345.67, 1.299,00 €, 0.4111111111111111, 4111111111111111.5',
    'order 2026-000123, SKU 12-345-678, 555-123, 192.168.100.200, 10.0.0.0/8',
    'class="sk-toggleable__label-arrow sk-container-id-1", the task-force, basic internationalization',
    'const x = a[1] + b - 12345678; // 3 + 4',
    'weave:///acme/qa/object/capitals:v0, chatcmpl-4111111111111111',
    '0189f3c2-ad08-4a1b-8c2d-0123456789ab',
    'https://a.cn：请看说明＠小明, 500−200−1000, plan=basic+premium-support-2024',
    '价格：１２３４５６７８ 円, x = a − 12345678, ٢٠٢٦−١١−٢٩, 100%2B1234, a%2B1234567, eyJhbGciOiJIUzI1NiJ9.foo',
    '10.0.19045.3803, 212.555.0187.1, 1.3.6.1.212.555.0187, v212.555.0187, 2026.11.29, 212.555.018, 121.0.6167.85',
    '4111.1111.1111.1112, 4111.1111.1111.1111.1, 4111.1111111111.11, 123456789:0aF9, 12:AA34, AccountKey=<key>',
    'http://localhost:8080/a@b, key = value, Bearer of news',
    'phone 2026-11-29 10:30, tel 10.0.19045.3803, mobile 192.168.100.200, fax 29.11.2026, mobile 2020-2024, iPhone 15',
    'Telegram 12345678, telling 1234567, phones 1000000, phone 123456, sms 99.95, microphone 44100, the GitHub key is the key',
    ...nearKeys,
    // Names whose values are no secrets, and values that stand for one.
    `api_key=YOUR_API_KEY, x-api-key: $ANTHROPIC_API_KEY_2, api_key: <token1>, token: \${{ secrets.TOKEN2 }}, password="%PASS_1%"`,
    `Authorization: Bearer \${API_KEY}, Authorization: Token YOUR_TOKEN, password=xxxx12, password: ********, sk-...`,
    'api_key = os.environ["KEY_2"], apiKey: process.env.OPENAI_API_KEY_2, password = form.password2, token=self.token_v2',
    'password: z.string().min(8), token: str | None = None, password VARCHAR(255), password must have 8 characters',
    '"max_tokens": 4096, "total_tokens": 12345678, tokenizer: "cl100k_base", next_page_token: CAESBgoEMTIzNA1b2c3d4e5f',
    'public_key = "9Cnzj4p4WGeKLs1Pt8QuKUpRKfFLfRYC9AIKjbJTWit", PublicKeyToken=b77a5c561934e089, cache_key=user:1234abcd5678ef, s3_key: ab12cd34ef56gh78',
    `idempotency_key: ${uuid}, credentialsId: ${uuid}, {"key":"user12profile34abc"}, primary_key: user_12ab34cd56ef78`,
    'secret: my-app-secret-2, arn:aws:secretsmanager:eu-west-1:123456789012:secret:prod/db-AbCdEf, secret_length = X25519.length',
    'pwd: /home/user1/project2, Cookie: theme=dark, pass 1 of 2, tests pass: 1234567, auth: true, -u 1000:1000',
    `pbkdf2(password: Uint8Array), x509Credential: CachedX509Token, thinking: '', signature: 'EqQBCkYIARgCIkDx', secret.startsWith1(), "pass": "要素に0より大きい$存在しません"`,
    `postgres://user:password@host/db, https://u:\${PASSWORD_1}@host, amqp://u:<password1>@h, token = this?.#own.token2`,
    'y = m@n.dot(z), x@w.to(device), q@k.transpose(-2, -1), pkg@1.0.0-beta.rc, f("a", "@example.com")',
  ]
  for (const value of harmless) assert.equal(text(value), value)
  const { json } = redactorOf()
  for (const value of [
    { token: ' hello', logprob: -1 },
    { type: 'secret', name: 'API_KEY2' },
    ['token', 'abc1'],
  ])
    assert.equal(json(JSON.stringify(value), 'output'), JSON.stringify(value))
})

test('ids and hashes are never touched, and of numbers few are taken for a card', () => {
  let cards = 0
  for (let i = 0; i < 2_000; i++) {
    const bytes = randomBytes(32)
    for (const value of [randomUUID(), randomUUID().replaceAll('-', ''), bytes.toString('hex')]) {
      assert.equal(text(value), value)
    }
    const order = String(bytes.readBigUInt64BE() % 10n ** 16n).padStart(16, '0')
    if (text(order) !== order) cards++
  }
  // A quarter begins like a card, and a tenth of them has its check digit.
  assert.ok(cards < 100, `${cards} of 2000 numbers of 16 digits`)
})

test('the sources of this package hold nothing private', () => {
  const folder = new URL('..', import.meta.url)
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.ts'))) {
    const source = readFileSync(new URL(file, folder), 'utf8')
    const expected = source.replaceAll(/a@b\.co\b|git@example\.com(?!:)/g, '[email]')
    assert.equal(text(source), expected, file)
  }
})

test('in JSON the rest keeps its digits, order and spaces', () => {
  const { json } = redactorOf()
  const before = '{ "n":12345678901234567890, "x":1.0,"to":"ada@example.com","a":[ [],{} ,"\\u00e9"] }'
  assert.equal(json(before, 'inputs'), before.replace('ada@example.com', '[email]'))
  for (const plain of ['null', '"a"', '12', '[]', '{}', '{"a":{"b":[1,2,{"c":null}]}}']) {
    assert.equal(json(plain, 'output'), plain)
  }
})

test('escapes hide nothing, in values, keys and JSON within strings', () => {
  const { json } = redactorOf()
  const within = JSON.stringify({ mail: 'see\nada@example.com', n: 4111111111111111 })
  const cases: [unknown, unknown][] = [
    [
      { 'ada@example.com': 1, 'bob@example.com': 2 },
      { '[email]': 1, '[email] 2': 2 },
    ],
    [
      { a: 4111111111111111, b: 4111111111111112 },
      { a: '[card]', b: 4111111111111112 },
    ],
    [{ args: within }, { args: '{"mail":"see\\n[email]","n":"[card]"}' }],
    [{ args: within.slice(0, 30) }, { args: '{"mail":"see\\n[email]"' }],
    ['a\tsk-ant-aaaaaaaaaaaaaaaa1111', 'a\t[key]'],
    // What AWS and Azure print: the key is known by its name only.
    [
      { out: JSON.stringify({ accountKey: `${mixed(86)}==`, name: mixed(86) }) },
      { out: JSON.stringify({ accountKey: '[key]', name: mixed(86) }) },
    ],
    [
      { SecretAccessKey: mixed(40), access_key: 'none' },
      { SecretAccessKey: '[key]', access_key: 'none' },
    ],
    [
      { out: JSON.stringify({ secretAccessKey: mixed(40), other: mixed(40) }) },
      { out: JSON.stringify({ secretAccessKey: '[key]', other: mixed(40) }) },
    ],
  ]
  for (const [before, after] of cases) {
    assert.deepEqual(JSON.parse(json(JSON.stringify(before), 'inputs')), after)
  }
  assert.equal(json('["ada\\u0040example.com","\\u0061da@example.com"]', 'output'), '["[email]","[email]"]')
  assert.equal(json('["{\\"a\\":\\"ada\\\\u0040example.com"]', 'output'), '["{\\"a\\":\\"[email]"]')
  assert.equal(redactorOf().json('"+49\\/30\\/1234567"', 'output'), '"[phone]"')
  const deep = `${'['.repeat(50_000)}"ada@example.com"${']'.repeat(50_000)}`
  assert.ok(json(deep, 'output').includes('[email]'))
})

test('an answer does not spell by its tokens what was replaced in it', () => {
  const { json } = redactorOf()
  const answer = (content: string) => ({
    choices: [{ message: { content }, logprobs: { content: [{ token: 'ad' }] }, token_ids: [1, 2] }],
    prompt_token_ids: [3],
  })
  const [changed, same] = ['ada@example.com', 'hi'].map((content) =>
    JSON.parse(json(JSON.stringify(answer(content)), 'output')),
  )
  assert.deepEqual(changed, {
    choices: [{ message: { content: '[email]' }, logprobs: null, token_ids: [] }],
    prompt_token_ids: [],
  })
  assert.deepEqual(same, { ...answer('hi'), prompt_token_ids: [] })
})

test('paths drop and hash values, through lists and JSON within strings', () => {
  const { json, counts } = redactorOf({
    paths: [
      { path: 'inputs.**.password', action: 'drop' },
      { path: 'inputs.users.*.name', action: 'hash' },
      { path: 'output', action: 'drop' },
    ],
  })
  const value = { password: { a: 1 }, args: '{"password":"x"}', users: [{ name: 'ada' }, { name: 'ada' }] }
  const inputs = JSON.parse(json(JSON.stringify(value), 'inputs'))
  assert.equal(inputs.password, '[dropped]')
  assert.equal(inputs.args, '{"password":"[dropped]"}')
  assert.match(inputs.users[0].name, /^\[hash:[0-9a-f]{16}\]$/)
  assert.equal(inputs.users[0].name, inputs.users[1].name)
  assert.equal(json('"text"', 'output'), '"[dropped]"')
  assert.equal(json('{"a":1}', 'output'), '{"redacted":"[dropped]"}')
  assert.equal(json('{"password":1}', 'payload'), '{"password":1}')
  assert.deepEqual(counts(), { dropped: 4, hashed: 2 })
  const again = JSON.stringify(inputs)
  assert.equal(json(again, 'inputs'), again)
  assert.equal(json('{"redacted":"[dropped]"}', 'output'), '{"redacted":"[dropped]"}')
  assert.deepEqual(counts(), {})
  const other = createRedactor({ paths: [{ path: 'inputs.a', action: 'hash' }], secret: 'other' })
  const same = redactorOf({ paths: [{ path: 'inputs.a', action: 'hash' }] })
  assert.notEqual(other.json('{"a":"x"}', 'inputs'), same.json('{"a":"x"}', 'inputs'))
})

async function matches(pattern: string, value: string): Promise<string[]> {
  const found: string[] = []
  ;(await patternFinder(pattern))(value, (from, to) => found.push(value.slice(from, to)))
  return found
}

test('a pattern finds the longest matches from left to right', async () => {
  assert.deepEqual(await matches('EMP-\\d{4,}', 'EMP-12 EMP-1234567 xEMP-0000'), ['EMP-1234567', 'EMP-0000'])
  assert.deepEqual(await matches('\\b\\d{6}\\b', '123456 1234567 a123456 654321'), ['123456', '654321'])
  assert.deepEqual(await matches('\\b[A-Z]\\d\\b', '\\nA1 \u001b[32mB2 mC3 A4'), ['A1', 'B2', 'A4'])
  assert.deepEqual(await matches('(?:ü|😀)+', 'aü😀üb'), ['ü😀ü'])
  assert.equal((await matches('\\d{11,}', '1'.repeat(5_000))).join(''), '1'.repeat(5_000))
})

test('what an automaton cannot follow is refused', async () => {
  for (const pattern of [
    'a$',
    '^a',
    'a*',
    '(?<=a)b',
    'a(?!b)',
    '(a)\\1',
    '[',
    'a\\bb',
    '\\ba|b',
    '(?:.{900}){40}',
  ]) {
    await assert.rejects(patternFinder(pattern), PatternError, pattern)
  }
})

test('no text makes a search run away', async () => {
  const finders = await Promise.all(['(a+)+b', '(a|a)*b', 'a.{0,100}b'].map(patternFinder))
  const hostile = [
    '@',
    'a@',
    'a@a.',
    '4 ',
    '4-',
    'eyJ',
    'eyJaaaaaaaa',
    'sk-',
    '+1',
    'DE12 ',
    'a',
    '://a:',
    '00 ',
    '%25',
    'MTIz',
    'dp.st.',
    '0d1e2c3d-',
    '[0;1;31m',
    '?sig=',
    'cGFz',
    'sk.eyJ',
    'token=',
    'token:a;',
    'token      "',
    `token:${'.'.repeat(500)}`,
    `secret=${'A'.repeat(250)}${'a'.repeat(250)} `,
    'cookie:==========',
    'password,',
    'key "',
    'password\\n',
    'cookie: a=',
    '"a',
    ' -u a:',
  ]
  for (const piece of hostile) {
    // A search that looks back over the text for each of its characters would take hours.
    const long = piece.repeat(60_000 / piece.length)
    assert.equal(text(long), long)
    const found: number[] = []
    for (const find of finders) find(long, (from) => found.push(from))
    assert.deepEqual(found, [])
  }
})
