import { eachMatch, type Finder } from './spans.ts'

/**
 * What stands before a key: no letter or digit, unless they are those of an escape. It is matched, not looked back for at
 * each letter, which takes twice the time of all the rest.
 */
const before = String.raw`(^|[^A-Za-z0-9]|\\[bfnrt]|%(?:25)?[0-9A-Fa-f]{2})`
/** What no key interrupts: words of prose are shorter, and need not be compared with each form. */
const inOne = String.raw`[\w.:/\\~+=-]{15}`

/**
 * Keys whose makers gave them a form: OpenAI and those who write theirs alike, Stripe, GitHub, GitLab, Google, AWS, Slack,
 * Hugging Face, npm, PyPI, SendGrid, DigitalOcean, Groq, xAI, NVIDIA, Replicate, Perplexity, Databricks, Shopify, Linear,
 * Cerebras, Docker, LangSmith, Tavily, Vault, Discord, Telegram, age, Twilio, Azure's directory, Atlassian, Notion, Grafana,
 * Sentry, Postman, Figma, Square, Mailgun, Sourcegraph, Doppler, Airtable, Supabase, New Relic, PlanetScale, Vercel, and Heddle.
 */
const key = new RegExp(
  `${before}(?=${inOne})(?:${[
    String.raw`sk-[\w-]{20,}`,
    '[rsp]k_(?:live|test)_[A-Za-z0-9]{16,}',
    'whsec_[A-Za-z0-9+/=]{24,}',
    'gh[pousr]_[A-Za-z0-9]{36,}',
    String.raw`github_pat_\w{22,}`,
    String.raw`gl(?:pat|ptt|dt|rtr?|cbt|ft|soat|agent|oas|imt|ffct|wt)-[\w-]{20,}(?:(?:\.[0-9a-z]{2})?\.[0-9a-z]{9})?`,
    String.raw`GR1348941[\w-]{20,}`,
    String.raw`AIza[\w-]{35}`,
    String.raw`AQ\.Ab8[\w-]{30,}`,
    String.raw`ya29\.[\w-]{20,}`,
    String.raw`GOCSPX-[\w-]{28}`,
    'A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{16}(?![A-Za-z0-9])',
    String.raw`xox[a-eoprs]-[\w-]{10,}`,
    String.raw`xapp-\d-[\w-]{10,}`,
    String.raw`hooks\.slack\.com\\?/(?:services|triggers|workflows)(?:\\?/|[\w-]){20,}`,
    String.raw`discord(?:app)?\.com\\?/api(?:\\?/v\d{1,2})?\\?/webhooks\\?/\d{17,20}\\?/[\w-]{60,}`,
    String.raw`(?:bot)?\d{8,10}:AA[\w-]{33}(?![\w-])`,
    // A bot's begins with its id, whose digits are in base64.
    String.raw`(?:[MNO][DTjz][AEIMQUYcgk][w-z0-5]){5,6}[\w-]{0,3}\.[\w-]{6}\.[\w-]{27,}`,
    'AGE-SECRET-KEY-1[A-Z0-9]{58}',
    'SK[0-9a-f]{32}(?![A-Za-z0-9])',
    String.raw`\w{3}\dQ~[\w.~-]{30,}[\w~-]`,
    String.raw`AT[A-Z]TT3[\w=-]{60,}`,
    'ATBB[A-Za-z0-9]{32}(?![A-Za-z0-9])',
    'ntn_[A-Za-z0-9]{40,}',
    'secret_[A-Za-z0-9]{43}(?![A-Za-z0-9])',
    'glsa_[A-Za-z0-9]{32}_[0-9a-f]{8}',
    'glc_[A-Za-z0-9+/]{32,}={0,3}',
    'eyJrIjoi[A-Za-z0-9+/]{60,}={0,3}',
    String.raw`sntry[su]_[\w+/=-]{40,}`,
    'PMAK-[0-9a-f]{24}-[0-9a-f]{34}',
    'PMAT-[0-9A-Z]{26}',
    String.raw`figd_[\w-]{40,}`,
    '(?:hf|api_org)_[A-Za-z0-9]{30,}',
    'npm_[A-Za-z0-9]{36,}',
    String.raw`pypi-[\w-]{50,}`,
    String.raw`SG\.[\w-]{16,64}\.[\w-]{16,}`,
    'do[opr]_v1_[0-9a-f]{64}',
    'gsk_[A-Za-z0-9]{40,}',
    'xai-[A-Za-z0-9]{40,}',
    String.raw`nvapi-[\w-]{40,}`,
    'r8_[A-Za-z0-9]{37,}',
    'pplx-[A-Za-z0-9]{40,}',
    String.raw`(?:dapi|dose|dkea)[0-9a-f]{32}(?:-\d)?`,
    'shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}',
    'lin_(?:api|oauth|wh)_[A-Za-z0-9]{32,}',
    'csk-[a-z0-9]{40,}',
    String.raw`dckr_[op]at_[\w-]{20,}`,
    'lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{8,}',
    String.raw`tvly-(?=[\w-]{0,40}\d)[\w-]{24,}`,
    String.raw`hv[sb]\.(?=[\w-]{0,40}\d)[\w-]{24,}`,
    String.raw`EAAA[\w-]{60}(?![\w-])`,
    String.raw`sq0(?:atp-[\w-]{22}|csp-[\w-]{43})`,
    '(?:pub)?key-[0-9a-f]{32}(?![A-Za-z0-9-])',
    '[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}(?![A-Za-z0-9-])',
    'sgp_(?:(?:[0-9a-fA-F]{16}|local)_)?[0-9a-fA-F]{40}',
    's(?:lk|gd)_[0-9a-f]{64}',
    String.raw`dp\.(?:pt|st|ct|sa|scim|audit|said)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}(?![A-Za-z0-9])`,
    String.raw`pat[A-Za-z0-9]{14}\.[0-9a-f]{64}`,
    'sbp_(?:[a-z0-9]{1,10}_)?[0-9a-f]{40}',
    String.raw`sb_secret_[\w-]{20,}`,
    String.raw`NR(?:AK|AA|IQ|II|BR|JS)-[\w-]{18,}`,
    'eu01xx[0-9a-f]{30}NRAL|[0-9a-f]{32}(?:FFFF|[0-9a-f]{4})NRAL',
    String.raw`pscale_(?:tkn|pw|oauth)_[\w.=-]{30,}[\w=-]`,
    'vc[pikar]_[A-Za-z0-9]{24,}',
    String.raw`vercel_blob_rw_\w{30,}`,
    String.raw`hdl_[\w-]{43}`,
  ].join('|')})`,
  'g',
)
/** Those of AWS and Azure are known by their names. */
const named = [
  /secret_?access_?key[^A-Za-z0-9/+]{1,12}([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])/gi,
  /(?:account|sharedaccess)key(?:=|%3D)((?:[A-Za-z0-9/+]|%2[BF]){40,}(?:=|%3D){0,2})/gi,
]

/** Names in style sheets begin like the keys of OpenAI, but are words. Langfuse's are a UUID. */
const isWords = (text: string) =>
  text.startsWith('sk-') &&
  !(/\d/.test(text) && /[A-Za-z0-9]{16}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-/.test(text.slice(3)))

export const findKeys: Finder = (text, found) => {
  eachMatch(key, text, ({ index, 0: match, 1: sign = '' }) => {
    if (!isWords(match.slice(sign.length))) found(index + sign.length, index + match.length)
  })
  for (const secretOf of named)
    eachMatch(secretOf, text, ({ index, 0: match, 1: secret = '' }) => {
      found(index + match.length - secret.length, index + match.length)
    })
}

/** Signed, or encrypted, which have five parts. */
const jwt =
  /(?:(?<![\w-])|(?<=\\[bfnrt]))eyJ[\w-]{8,}\.(?:eyJ[\w-]{8,}\.[\w-]*|[\w-]*\.[\w-]{8,}\.[\w-]{2,}\.[\w-]{8,})/g
const scheme = /(?:(?<![A-Za-z0-9])|(?<=%[0-9A-Fa-f]{2}))(?:bearer|basic)(?:\s{1,3}|%20)([\w.~+/=-]{16,})/gi
/** The password of a URL. Many have an at sign as it is; after one, nothing that ends a host may follow. */
const inUrl = /:(?:\\?\/){2}[^\s/:@"\\]{0,64}:([^\s/@"\\]{1,128}(?:@[^\s/@"\\?#,;()]{0,128}){0,3})@/g

/** JSON Web Tokens, credentials of an Authorization header, passwords in URLs. */
export const findTokens: Finder = (text, found) => {
  eachMatch(jwt, text, ({ index, 0: match }) => found(index, index + match.length))
  eachMatch(scheme, text, ({ index, 0: match, 1: token = '' }) => {
    // "basic internationalization" is prose.
    if (/\d/.test(token)) found(index + match.length - token.length, index + match.length)
  })
  eachMatch(inUrl, text, ({ index, 0: match, 1: password = '' }) => {
    found(index + match.length - 1 - password.length, index + match.length - 1)
  })
}

/** In PEM, and as PuTTY writes them. */
const privateBegin = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-\d: /g
const privateEnd = /-----END [A-Z0-9 ]{0,60}-----|Private-MAC: [0-9a-f]{40,64}/g

/** Private keys. One without an end was cut off, and goes on to the end of the text. */
export const findPrivateKeys: Finder = (text, found) => {
  eachMatch(privateBegin, text, ({ index }) => {
    privateEnd.lastIndex = privateBegin.lastIndex
    const end = privateEnd.test(text) ? privateEnd.lastIndex : text.length
    found(index, end)
    privateBegin.lastIndex = end
  })
}
