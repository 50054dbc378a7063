import { findNamedKeys, findNamedTokens, placeholder } from './named.ts'
import { eachMatch, type Finder } from './spans.ts'

/**
 * What stands before a key: no letter or digit, unless they are those of an escape or of a colour of a terminal. It is
 * matched, not looked back for at each letter, which takes twice the time of all the rest.
 */
const before = String.raw`(^|[^A-Za-z0-9]|\\[bfnrt]|%(?:25)?[0-9A-Fa-f]{2}|\[[\d;]{1,12}m)`
/** What no key interrupts: words of prose are shorter, and need not be compared with each form. */
const inOne = String.raw`[\w.:/\\~+=%|!-]{15}`

/** No name of a program: it has a digit, or two capitals together. */
const odd = String.raw`(?=[\w-]{0,40}(?:\d|[A-Z]{2}))`
const uuid = '[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?![A-Za-z0-9-])'

/**
 * Keys whose makers gave them a form, which often spells the maker. Others: Stripe, Google, Slack (xox), age and Twilio (SK),
 * Atlassian (AT), Grafana (gl), Postman (PM), SendGrid (SG), Sourcegraph, Databricks (d), Vault (hv), Square, Mailgun and
 * Mailchimp (us), Doppler, Airtable, New Relic, Pinecone, Together, Voyage, Netlify, Fireworks, Resend, ElevenLabs (sk_), Brevo,
 * Dynatrace, Alibaba, Tencent, Yandex, JFrog, Dropbox (sl), Mapbox (sk.), 1Password, Fly.io, OpenShift, Cloudflare (v1), NuGet.
 */
const key = new RegExp(
  `${before}(?=${inOne})(?:${[
    String.raw`sk-[\w-]{20,}`,
    '[arsp]k_(?:live|test|prod)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/=]{24,}',
    String.raw`(?:gh[pousr]|npm)_[A-Za-z0-9]{36,}|github_pat_\w{22,}|(?:hf|api_org)_[A-Za-z0-9]{30,}`,
    String.raw`gl(?:pat|ptt|dt|rtr?|cbt|ft|soat|agent|oas|imt|ffct|wt)-[\w-]{20,}(?:(?:\.[0-9a-z]{2})?\.[0-9a-z]{9})?`,
    String.raw`AIza[\w-]{35}|(?:AQ\.Ab8[\w-]{30}|ya29\.[\w-]{20}|GOCSPX-[\w-]{28}|1//0[\w-]{40})[\w-]*`,
    'A(?:KIA|SIA|BIA|CCA|3T[A-Z0-9])[A-Z0-9]{16}(?![A-Za-z0-9])|(?:IQoJb3JpZ2luX2Vj|FwoGZXIvYXdz|ABSK|bedrock-api-key-Ym)[A-Za-z0-9+/]{60,}={0,2}',
    String.raw`(?:xox[a-eoprs]|xapp-\d)-(?=[\w-]{0,40}\d)[\w-]{10,}`,
    String.raw`hooks\.slack(?:-gov)?\.com\\?/(?:services|triggers|workflows)(?:\\?/|[\w-]){20,}`,
    String.raw`discord(?:app)?\.com\\?/api(?:\\?/v\d{1,2})?\\?/webhooks\\?/\d{17,20}\\?/[\w-]{60,}`,
    String.raw`(?:bot)?\d{8,10}(?::|%3A)AA[\w-]{33}(?![\w-])`,
    // A bot's begins with its id, whose digits are in base64.
    String.raw`(?:[MNO][DTjz][AEIMQUYcgk][w-z0-5]){5,6}[\w-]{0,3}\.[\w-]{6}\.[\w-]{27,}`,
    'AGE-SECRET-KEY-1[A-Z0-9]{58}|SK[0-9a-f]{32}(?![A-Za-z0-9])',
    String.raw`\w{3}\dQ~[\w.~-]{30,}[\w~-]`,
    String.raw`AT[A-Z]TT3[\w=-]{60,}|(?:ATBB[A-Za-z0-9]{32}|secret_[A-Za-z0-9]{43})(?![A-Za-z0-9])`,
    'glsa_[A-Za-z0-9]{32}_[0-9a-f]{8}|(?:glc_|eyJrIjoi[A-Za-z0-9+/]{28})[A-Za-z0-9+/]{32,}={0,3}',
    String.raw`sntry[su]_[\w+/=-]{40,}|PM(?:AK-[0-9a-f]{24}-[0-9a-f]{34}|AT-[0-9A-Z]{26})`,
    String.raw`pypi-[\w-]{50,}|SG\.[\w-]{16,64}\.[\w-]{16,}`,
    '(?:do[opr]_v1|s(?:lk|gd))_[0-9a-f]{64}',
    String.raw`(?:(?:gsk_|xai-|pplx-|ntn_|csk-)[A-Za-z0-9]{40}|(?:nvapi-|fig[dpo]_)[\w-]{40}|r8_[A-Za-z0-9]{37})[\w-]*`,
    // Names of programs begin like these, too: but hold no long piece with a digit, or no capital.
    String.raw`(?:pcsk_|tgp_v1_|wandb_v1_|duffel_(?:live|test)_|CCIPAT_|CFPAT-|HRKU-|pa-)(?=[\w-]{0,40}[A-Z])${odd}[\w-]{40,}`,
    String.raw`(?:rubygems|CLOJARS|e2b|bkua|sq[apu]|shippo_(?:live|test)|napi|pnu|rdme|nfp|ph[xs]|jina|cf[aku]t?|apify_api|ramp_(?:id|sec)|rootly|dd[pw]|zpka|rpa|dtn|web|sqco|bb_(?:pr|ma|live))_(?=[A-Za-z]{0,31}[A-Z\d])[A-Za-z0-9]{32,}`,
    String.raw`(?:aio_|fw_(?=[A-Za-z0-9]{24}(?!\w))|re_[A-Za-z0-9]{8}_)(?=[A-Za-z]{0,23}\d)[A-Za-z0-9]{24,}`,
    '(?:sk_[0-9a-f]{48}|(?:fc|pul)-[0-9a-f]{32,40})(?![A-Za-z0-9-])',
    String.raw`xkeysib-[0-9a-f]{64}-[A-Za-z0-9]{16}|dt0[a-z]\d\d\.[A-Z0-9]{24}\.[A-Z0-9]{64}`,
    String.raw`(?:LTAI(?=[A-Za-z]{0,23}\d)[A-Za-z0-9]{16,24}|AKID[A-Za-z0-9]{32}|AQVN[\w-]{35,40}|AKCp[A-Za-z0-9]{69}|EZ[AT]K[A-Za-z0-9]{54})(?![\w-])`,
    String.raw`sl\.(?:u\.)?[\w-]{120,}|sk\.eyJ[\w-]{40,}\.[\w-]{20,}|ops_eyJ[\w+/=-]{200,}|f(?:m[12][ar]?_[\w+/=-]{80}|o1_[\w-]{43})[\w+/=-]*|sha256~[\w-]{43}`,
    String.raw`v1\.0-[0-9a-f]{24}-[0-9a-f]{140,}|FLW(?:SECK|PUBK)(?:_TEST)?-[0-9a-hA-H]{12,32}(?:-X)?|(?:oy2[a-z2-7]{43}|cio(?=[A-Za-z]{0,31}\d)[A-Za-z0-9]{32})(?!\w)`,
    String.raw`webhook\.office\.com\\?/webhookb2\\?/[\w@-]{36,}(?:\\?/[\w-]+){2,4}`,
    String.raw`(?:dapi|dose|dkea|shp(?:at|ca|pa|ss|ua|tka)_)[0-9a-fA-F]{32}(?:-\d)?`,
    'lin_(?:api|oauth|wh)_[A-Za-z0-9]{32,}|lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{8,}',
    String.raw`(?:dckr_[op]at_|sb_secret_|GR1348941)[\w-]{20,}|(?:tvly-|hv[sbr]\.)(?=[\w-]{0,80}\d)[\w-]{24,}`,
    String.raw`EAA(?:A[\w-]{60}(?![\w-])|[A-Za-z0-9]{77,})|sq0[a-z]{3}-[\w-]{22,43}`,
    '(?:(?:pub)?key-[0-9a-f]{32}|[0-9a-f]{32}-(?:[0-9a-f]{8}-[0-9a-f]{8}|us[0-9]{1,2}))(?![A-Za-z0-9-])',
    'sgp_(?:(?:[0-9a-fA-F]{16}|local)_)?[0-9a-fA-F]{40}|sbp_(?:[a-z0-9]{1,10}_)?[0-9a-f]{40}',
    String.raw`dp\.(?:pt|st|ct|sa|scim|audit|said)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}(?![A-Za-z0-9])`,
    String.raw`NR(?:AK|AA|IQ|II|BR|JS)-[\w-]{18,}|(?:eu01xx[0-9a-f]{30}|[0-9a-f]{32}(?:FFFF|[0-9a-f]{4}))NRAL`,
    String.raw`pat[A-Za-z0-9]{14}\.[0-9a-f]{64}|pscale_(?:tkn|pw|oauth)_[\w.=-]{30,}[\w=-]`,
    String.raw`(?:api|sdk|mob|rh-api|access-(?:sandbox|development|production)|pat-[a-z]{2}\d|[ps](?:ub|ec)-c|amzn\.mws|sk(?:_test|_sbox)?)[-._]${uuid}`,
    String.raw`amzn1\.oa2-cs\.v1\.[0-9a-f]{64}|A21A[\w-]{80,}|[0-2]/\d{16}(?:/\d{16})?:[0-9a-f]{32}(?!\w)|\d{15,16}(?:\||%7C)${odd}[\w-]{27,40}(?![\w-])`,
    String.raw`(?:live|test)_(?:[0-9a-f]{35}|pub_[0-9a-f]{31}|(?=[\w-]{0,40}[A-Z])${odd}[\w-]{40})(?![\w-])|[atu]-(?=\w{0,30}[A-Z])${odd}[A-Za-z0-9]{38,44}(?![\w-])`,
    String.raw`SCW[0-9A-Z]{17}(?!\w)|st\.[0-9a-f]{24}\.[0-9a-f]{32}\.[0-9a-f]{32}|fio-u-[\w=-]{60,}|tfp_[\w.=-]{39,}[\w=-]|p8e-[A-Za-z0-9]{32}`,
    String.raw`A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}|cmVmd[A-Za-z0-9]{59}(?!\w)|4b1d(?=[0-9A-Za-z]{0,37}[G-Zg-z])[A-Za-z0-9]{38}(?!\w)`,
    String.raw`(?:sc|ext|scauth|authress)_[A-Za-z0-9]{5,30}\.[A-Za-z0-9]{4,6}\.acc[_-][A-Za-z0-9-]{10,32}\.[\w+/=-]{30,}|dnkey-[\w=-]{26}-[\w=-]{52}|[ps]at\.[\w-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}`,
    String.raw`(?:ico-${odd}[A-Za-z0-9]{32}|API-(?=[A-Z]{0,25}\d)[A-Z0-9]{26}|sm_[aps]at_[A-Za-z0-9]{16}|rzp_(?:live|test)_[A-Za-z0-9]{14}|y[0-3]_[\w-]{55,60}|YC${odd}[\w-]{38})(?![\w-])`,
    String.raw`[su]-s4t2(?:ud|af)-[0-9a-f]{64}|tk-us-[\w-]{48}|A{22}(?=[A-Za-z0-9]{0,60}%)[A-Za-z0-9%]{80,}|\d{15,20}-${odd}[A-Za-z0-9]{40}(?!\w)|1000\.[0-9a-f]{32}\.[0-9a-f]{32}`,
    String.raw`s\.(?=[a-z0-9]{0,23}[A-Z])${odd}[A-Za-z0-9]{24}(?![\w(]|\.\w)|t1\.[\w-]{20,}={0,2}\.[\w-]{86}|(?:00[A-Za-z0-9]{13}!|3MVG9|5AEP861)[\w.=]{75,}[\w=]`,
    String.raw`signkey-[a-z]+-[0-9a-f]{32,}|a[ks]-(?=[a-z0-9]{0,21}[A-Z])${odd}[A-Za-z0-9]{22}(?![\w-])|tskey-[a-z]+-\w{8,}(?:-\w+)?|hooks\.zapier\.com\\?/hooks\\?/catch(?:\\?/\w+){2}|secret-(?:test|live)-[\w-]{36}=?|BBDC-[A-Za-z0-9+/]{40,}|pk_\d{5,8}_[A-Z0-9]{32}|pi_[A-Za-z0-9]{24}_secret_\w{20,}`,
    String.raw`LS0tLS1CRUdJTiB(?:QUkl|SU0E|FQy|PUEV|FTkN|EU0E)[\w+/=-]{40,}|ZXlKaGJHY2lPaU[\w+/=-]{40,}`,
    String.raw`vc[pikar]_[A-Za-z0-9]{24,}|vercel_blob_rw_\w{30,}|hdl_[\w-]{43}`,
  ].join('|')})`,
  'g',
)
/** What marks those of Azure, Terraform and some others stands in their middle: looking for it alone takes hardly any time. */
const mark = /JQQJ99|AZDO|\.atlasv1\.|_mmk|access_token\$|Atz[ar](?:\||%7C)/
const marked =
  /[A-Za-z0-9]{52}(?:JQQJ99[A-Za-z0-9]{26}|[A-Za-z0-9]{24}AZDO[A-Za-z0-9]{4})(?![A-Za-z0-9])|[A-Za-z0-9]{14}\.atlasv1\.[\w-]{60,}|[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk|access_token\$\w{7,12}\$[0-9a-z]{16}\$[0-9a-f]{32}|Atz[ar](?:\||%7C)[\w-]{60,}/g

/** Names in style sheets begin like the keys of OpenAI, but are words without capitals. Langfuse's are a UUID. */
const isWords = (text: string) =>
  text.startsWith('sk-') &&
  !(/\d/.test(text) && /[A-Za-z0-9]{16}|[A-Z].*[A-Z]|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-/.test(text.slice(3)))

/** Of keys, which are longer than what is searched in passwords. */
const noKey = /[xX]{6}|[yY]our[-_]|YOUR[-_]|[-_]here\b/

const ofKeys = '[\\w.:/\\\\~+=%|!@$-]'
const minKey = 15
const run = new RegExp(`${ofKeys}{${minKey},}`, 'y')
const isOfKeys = Uint8Array.from({ length: 128 }, (_, code) =>
  Number(new RegExp(ofKeys).test(String.fromCharCode(code))),
)
/** A colour of a terminal, which may stand before one. */
const maxBefore = 14

/** Calls for every run of characters of keys that is long enough. Of words of prose it reads a few characters. */
function eachRun(text: string, use: (from: number, to: number) => void) {
  for (let from = 0; from + minKey <= text.length; ) {
    let begin = from + minKey
    while (begin > from && isOfKeys[text.charCodeAt(begin - 1)] === 1) begin--
    if (begin === from) {
      run.lastIndex = from
      run.test(text)
      begin = run.lastIndex
      use(from, begin)
    }
    from = begin
  }
}

/** All keys have digits or capitals within. */
const mayBeKey = /\d|[A-Za-z][A-Z]/

export const findKeys: Finder = (text, found) => {
  eachRun(text, (from, to) => {
    if (!mayBeKey.test(text.slice(from, to))) return
    const start = Math.max(0, from - maxBefore)
    // With the character after it, which some forms must not have.
    const written = text.slice(start, to + 1)
    const report = (at: number, end: number) => found(start + at, start + end)
    eachMatch(key, written, ({ index, 0: match, 1: sign = '' }) => {
      const value = match.slice(sign.length)
      if (!isWords(value) && !noKey.test(value)) report(index + sign.length, index + match.length)
    })
    if (mark.test(written))
      eachMatch(marked, written, ({ index, 0: match }) => report(index, index + match.length))
  })
  findNamedKeys(text, found)
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
    if (!placeholder.test(password))
      found(index + match.length - 1 - password.length, index + match.length - 1)
  })
  eachMatch(inQuery, text, ({ index, 0: match, 1: value = '' }) => {
    if (/\d/.test(value)) found(index + match.length - value.length, index + match.length)
  })
  findNamedTokens(text, found)
}

/** In PEM, that of SSH2 too, and as PuTTY writes them. */
const privateBegin =
  /---- ?-?BEGIN[A-Z0-9 +%]{1,60}PRIVATE(?: |\+|%20)KEY(?:(?: |\+|%20)BLOCK)? ?----|PuTTY-User-Key-File-\d: /g
const privateEnd = /---- ?-?END[A-Z0-9 +%]{0,60}-----?|Private-MAC: [0-9a-f]{40,64}/g

/** Private keys. One without an end was cut off, and goes on to the end of the text. */
export const findPrivateKeys: Finder = (text, found) => {
  eachMatch(privateBegin, text, ({ index }) => {
    privateEnd.lastIndex = privateBegin.lastIndex
    const end = privateEnd.test(text) ? privateEnd.lastIndex : text.length
    found(index, end)
    privateBegin.lastIndex = end
  })
}
