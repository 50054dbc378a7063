import { eachMatch, type Finder } from './spans.ts'

/**
 * What stands before a key: no letter or digit, unless they are those of an escape or of a colour of a terminal. It is
 * matched, not looked back for at each letter, which takes twice the time of all the rest.
 */
const before = String.raw`(^|[^A-Za-z0-9]|\\[bfnrt]|%(?:25)?[0-9A-Fa-f]{2}|\[[\d;]{1,12}m)`
/** What no key interrupts: words of prose are shorter, and need not be compared with each form. */
const inOne = String.raw`[\w.:/\\~+=-]{15}`

/**
 * Keys whose makers gave them a form, which often spells the maker. Others: Stripe, Google, Slack (xox), age and Twilio (SK),
 * Atlassian (AT), Grafana (gl), Postman (PM), SendGrid (SG), Sourcegraph, Databricks (d), Vault (hv), Square, Mailgun and
 * Mailchimp (us), Doppler, Airtable, New Relic, Pinecone, Together, Voyage, Netlify, Fireworks, Resend, ElevenLabs (sk_), Brevo,
 * Dynatrace, Alibaba, Tencent, Yandex, JFrog, Dropbox (sl), Mapbox (sk.), 1Password, Fly.io, OpenShift, Cloudflare (v1), NuGet.
 */
const key = new RegExp(
  `${before}(?=${inOne})(?:${[
    String.raw`sk-[\w-]{20,}`,
    '[rsp]k_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/=]{24,}',
    String.raw`(?:gh[pousr]|npm)_[A-Za-z0-9]{36,}|github_pat_\w{22,}|(?:hf|api_org)_[A-Za-z0-9]{30,}`,
    String.raw`gl(?:pat|ptt|dt|rtr?|cbt|ft|soat|agent|oas|imt|ffct|wt)-[\w-]{20,}(?:(?:\.[0-9a-z]{2})?\.[0-9a-z]{9})?`,
    String.raw`AIza[\w-]{35}|(?:AQ\.Ab8[\w-]{30}|ya29\.[\w-]{20}|GOCSPX-[\w-]{28}|1//0[\w-]{40})[\w-]*`,
    'A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{16}(?![A-Za-z0-9])|(?:IQoJb3JpZ2luX2Vj|FwoGZXIvYXdz|ABSK)[A-Za-z0-9+/]{60,}={0,2}',
    String.raw`(?:xox[a-eoprs]|xapp-\d)-[\w-]{10,}`,
    String.raw`hooks\.slack(?:-gov)?\.com\\?/(?:services|triggers|workflows)(?:\\?/|[\w-]){20,}`,
    String.raw`discord(?:app)?\.com\\?/api(?:\\?/v\d{1,2})?\\?/webhooks\\?/\d{17,20}\\?/[\w-]{60,}`,
    String.raw`(?:bot)?\d{8,10}:AA[\w-]{33}(?![\w-])`,
    // A bot's begins with its id, whose digits are in base64.
    String.raw`(?:[MNO][DTjz][AEIMQUYcgk][w-z0-5]){5,6}[\w-]{0,3}\.[\w-]{6}\.[\w-]{27,}`,
    'AGE-SECRET-KEY-1[A-Z0-9]{58}|SK[0-9a-f]{32}(?![A-Za-z0-9])',
    String.raw`\w{3}\dQ~[\w.~-]{30,}[\w~-]`,
    String.raw`AT[A-Z]TT3[\w=-]{60,}|(?:ATBB[A-Za-z0-9]{32}|secret_[A-Za-z0-9]{43})(?![A-Za-z0-9])`,
    'glsa_[A-Za-z0-9]{32}_[0-9a-f]{8}|(?:glc_|eyJrIjoi[A-Za-z0-9+/]{28})[A-Za-z0-9+/]{32,}={0,3}',
    String.raw`sntry[su]_[\w+/=-]{40,}|PM(?:AK-[0-9a-f]{24}-[0-9a-f]{34}|AT-[0-9A-Z]{26})`,
    String.raw`pypi-[\w-]{50,}|SG\.[\w-]{16,64}\.[\w-]{16,}`,
    '(?:do[opr]_v1|s(?:lk|gd))_[0-9a-f]{64}',
    String.raw`(?:(?:gsk_|xai-|pplx-|ntn_|csk-)[A-Za-z0-9]{40}|(?:nvapi-|figd_)[\w-]{40}|r8_[A-Za-z0-9]{37})[\w-]*`,
    // Names of programs begin like these, too: but hold no long piece with a digit, or no capital.
    String.raw`(?:pcsk_|tgp_v1_|wandb_v1_|duffel_(?:live|test)_|CCIPAT_|CFPAT-|HRKU-|pa-)(?=[\w-]{0,40}\d)(?=[\w-]{0,40}[A-Z])[\w-]{40,}`,
    String.raw`(?:rubygems|CLOJARS|e2b|bkua|sq[apu]|shippo_(?:live|test)|napi|pnu|rdme|nfp|ph[xs]|jina|cf[au]t)_(?=[A-Za-z]{0,31}\d)[A-Za-z0-9]{32,}`,
    String.raw`(?:aio_|fw_(?=[A-Za-z0-9]{24}(?!\w))|re_[A-Za-z0-9]{8}_)(?=[A-Za-z]{0,23}\d)[A-Za-z0-9]{24,}`,
    '(?:sk_[0-9a-f]{48}|(?:fc|pul)-[0-9a-f]{32,40})(?![A-Za-z0-9-])',
    String.raw`xkeysib-[0-9a-f]{64}-[A-Za-z0-9]{16}|dt0[a-z]\d\d\.[A-Z0-9]{24}\.[A-Z0-9]{64}`,
    String.raw`(?:LTAI(?=[A-Za-z]{0,23}\d)[A-Za-z0-9]{16,24}|AKID[A-Za-z0-9]{32}|AQVN[\w-]{35,40}|AKCp[A-Za-z0-9]{69}|EZ[AT]K[A-Za-z0-9]{54})(?![\w-])`,
    String.raw`sl\.(?:u\.)?[\w-]{120,}|sk\.eyJ[\w-]{40,}\.[\w-]{20,}|ops_eyJ[\w+/=-]{200,}|fm[12]_[\w+/=-]{80,}|sha256~[\w-]{43}`,
    String.raw`v1\.0-[0-9a-f]{24}-[0-9a-f]{140,}|FLWSECK-[0-9a-f]{32}-X|(?:oy2[a-z2-7]{43}|cio(?=[A-Za-z]{0,31}\d)[A-Za-z0-9]{32})(?!\w)`,
    String.raw`webhook\.office\.com\\?/webhookb2\\?/[\w@-]{36,}(?:\\?/[\w-]+){2,4}`,
    String.raw`(?:dapi|dose|dkea|shp(?:at|ca|pa|ss)_)[0-9a-fA-F]{32}(?:-\d)?`,
    'lin_(?:api|oauth|wh)_[A-Za-z0-9]{32,}|lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{8,}',
    String.raw`(?:dckr_[op]at_|sb_secret_|GR1348941)[\w-]{20,}|(?:tvly-|hv[sb]\.)(?=[\w-]{0,40}\d)[\w-]{24,}`,
    String.raw`EAAA[\w-]{60}(?![\w-])|sq0(?:atp-[\w-]{22}|csp-[\w-]{43})`,
    '(?:(?:pub)?key-[0-9a-f]{32}|[0-9a-f]{32}-(?:[0-9a-f]{8}-[0-9a-f]{8}|us[0-9]{1,2}))(?![A-Za-z0-9-])',
    'sgp_(?:(?:[0-9a-fA-F]{16}|local)_)?[0-9a-fA-F]{40}|sbp_(?:[a-z0-9]{1,10}_)?[0-9a-f]{40}',
    String.raw`dp\.(?:pt|st|ct|sa|scim|audit|said)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}(?![A-Za-z0-9])`,
    String.raw`NR(?:AK|AA|IQ|II|BR|JS)-[\w-]{18,}|(?:eu01xx[0-9a-f]{30}|[0-9a-f]{32}(?:FFFF|[0-9a-f]{4}))NRAL`,
    String.raw`pat[A-Za-z0-9]{14}\.[0-9a-f]{64}|pscale_(?:tkn|pw|oauth)_[\w.=-]{30,}[\w=-]`,
    String.raw`vc[pikar]_[A-Za-z0-9]{24,}|vercel_blob_rw_\w{30,}|hdl_[\w-]{43}`,
  ].join('|')})`,
  'g',
)
/** Those of AWS, Azure and WireGuard are known by their names. */
const named = [
  /secret_?access_?key[^A-Za-z0-9/+]{1,40}([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])/gi,
  /(?:account|sharedaccess|private|preshared)_?key(?:=|%3D| = |[\\"]{1,8}: ?[\\"]{1,8})((?:[A-Za-z0-9/+]|%2[BF]){40,}(?:=|%3D){0,2})/gi,
]

/** What marks those of Azure and Terraform stands in their middle: looking for it alone takes hardly any time. */
const mark = /JQQJ99|AZDO|\.atlasv1\./
const marked =
  /[A-Za-z0-9]{52}(?:JQQJ99[A-Za-z0-9]{26}|[A-Za-z0-9]{24}AZDO[A-Za-z0-9]{4})(?![A-Za-z0-9])|[A-Za-z0-9]{14}\.atlasv1\.[\w-]{60,}/g

/** Names in style sheets begin like the keys of OpenAI, but are words without capitals. Langfuse's are a UUID. */
const isWords = (text: string) =>
  text.startsWith('sk-') &&
  !(/\d/.test(text) && /[A-Za-z0-9]{16}|[A-Z].*[A-Z]|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-/.test(text.slice(3)))

export const findKeys: Finder = (text, found) => {
  eachMatch(key, text, ({ index, 0: match, 1: sign = '' }) => {
    if (!isWords(match.slice(sign.length))) found(index + sign.length, index + match.length)
  })
  if (mark.test(text)) eachMatch(marked, text, ({ index, 0: match }) => found(index, index + match.length))
  for (const secretOf of named)
    eachMatch(secretOf, text, ({ index, 0: match, 1: secret = '' }) => {
      found(index + match.length - secret.length, index + match.length)
    })
}

/** Signed, or encrypted, which have five parts. */
const jwt =
  /(?:(?<![A-Za-z0-9-])|(?<=\\[bfnrt]|\[[\d;]{1,12}m))eyJ[\w-]{8,}\.(?:eyJ[\w-]{8,}\.[\w-]*|[\w-]*\.[\w-]{8,}\.[\w-]{2,}\.[\w-]{8,})/g
const scheme = /(?:(?<![A-Za-z0-9])|(?<=%[0-9A-Fa-f]{2}))(?:bearer|basic)(?:\s{1,3}|%20)([\w.~+/=-]{16,})/gi
/** The password of a URL. Many have an at sign as it is; after one, nothing that ends a host may follow. */
const inUrl = /:(?:\\?\/){2}[^\s/:@"\\]{0,64}:([^\s/@"\\]{1,128}(?:@[^\s/@"\\?#,;()]{0,128}){0,3})@/g

/** In the query of one: a password, or what signs it. */
const inQuery =
  /(?:[?&;]|\\u0026)(?:password|passwd|pwd|(?:access|refresh|id)_token|api[-_]?key|sig|x-(?:amz|goog)-signature)=([^\s&;"'`<>{}$\\#)]{8,})/gi
const credentials = /^[ -9;-~]+:[ -~]+$/

/** JSON Web Tokens, credentials of an Authorization header, passwords in URLs. */
export const findTokens: Finder = (text, found) => {
  eachMatch(jwt, text, ({ index, 0: match }) => found(index, index + match.length))
  eachMatch(scheme, text, ({ index, 0: match, 1: token = '' }) => {
    // "basic internationalization" is prose.
    if (/\d/.test(token) || credentials.test(Buffer.from(token, 'base64').toString('latin1')))
      found(index + match.length - token.length, index + match.length)
  })
  eachMatch(inUrl, text, ({ index, 0: match, 1: password = '' }) => {
    found(index + match.length - 1 - password.length, index + match.length - 1)
  })
  eachMatch(inQuery, text, ({ index, 0: match, 1: value = '' }) => {
    if (/\d/.test(value)) found(index + match.length - value.length, index + match.length)
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
