import { eachMatch, type Finder } from './spans.ts'

/** What may stand after the noun of a name. */
const suffix = String.raw`(?:[-_ ]?(?:base|value|string|prod(?:uction)?|dev|test|staging|live|\d{1,3}))?`
/** Quotes of the name, what assigns, quotes of the value. Or only spaces, as after an option of a command. */
const close = String.raw`(?:["'\x60\\,*)\]\s]|\\{1,4}[nrt]){0,12}`
const assigns = String.raw`(?::?[ \t]?str(?:ing)?\b|value["'\\]{0,4})?[ \t]{0,4}(?:[?.+|]{0,2}={1,2}>?|:{1,3}=?|%3[ADad])|>(?:\s|\\{1,4}[nrt]){0,12}|\|(?= )|(?<=["'\x60\\],\s{0,4})|\s(?:is|was):?[ \t]`
const open = String.raw`(?:["'\x60\\*[( \t]|%2[02]){0,8}`
const scheme = String.raw`(?:(?:token|bearer|basic|api-?key|ssws|oauth|key)(?:[ \t=]|%20){1,3})?`
const maxTold = 128
/** Up to the quote that it began with, a space, or the next name: enough to tell what it is. */
const value = String.raw`((?<=")[^"\s]{5,${maxTold}}|(?<=')[^'\s]{5,${maxTold}}|(?:[^\s"'\x60<>;&]|[;&](?!(?:amp;)?[\w. -]{0,40}=|\s|$|["'\x60])){5,${maxTold}})`

/** What is private by the name before it: `DB_PASSWORD=…`, `"apiKey": "…"`, `x-auth-token: …`, `<secret>…`. */
interface Assignment {
  /** How names begin, which is searched in much less time. */
  stem: RegExp
  form: RegExp
}

const assignment = (stem: RegExp, nouns: string): Assignment => ({
  stem,
  form: new RegExp(`(${nouns})${suffix}(?:${close}(?:${assigns})${open}|[ \\t]{1,4})${scheme}${value}`, 'iy'),
})

const tokenNoun = String.raw`passw(?:or)?[dt]|passphrase|pass(?<![a-z]pass)|pwd|secret|token(?<!(?:page|next|sync|csrf|xsrf|public|key)[-_ ]?token)|credentials?|creds|auth(?:orization)?|signature(?<=,\s?signature)(?==)`
const keys = assignment(/key/gi, 'key')
const tokens = assignment(/pass|pwd|secret|token|cred|auth|signature/gi, tokenNoun)

/** Keys of JSON whose values may be known by them only. */
export const secretName = new RegExp(`(?:key|${tokenNoun}|cookie)${suffix}$`, 'i')

/** What stands before the word key. Other keys are those of tables and caches; but variables such as OPENAI_KEY are of a service. */
const ofSecret =
  /(?:api|access|secret|auth|account|subscription|functions?|host|master|app|application|client|consumer|encrypt(?:ion)?|crypto|sign(?:ing)?|licen[cs]e|private|preshared|shared|sharedaccess|storage|service|server|deploy|admin|webhook|session|hmac|aes|jwt|token|security|integration|ingest|write|read|openai|anthropic|azure|aws|google|gemini|mistral|cohere|groq|huggingface|pinecone|algolia|mapbox|stripe|twilio|sendgrid|mailgun|github|gitlab|slack|datadog|cloudflare)[-_ .]?$/i
const ofVariable = /[A-Z]_$(?<!(?:PUBLIC|PRIMARY|FOREIGN|PARTITION|SORT|CACHE|ROW|HASH|UNIQUE|ROUTING)_)/
const isSecretKey = (text: string, at: number) => {
  const before = text.slice(Math.max(0, at - 14), at)
  return ofSecret.test(before) || (text.startsWith('KEY', at) && ofVariable.test(before))
}

/** What stands where a secret goes. */
export const placeholder =
  /^(?:\[[\w:]+\]|<[\w -]+>|\{\{?[\w .]+\}|%\(\w+\)|%[a-z]$|%[A-Z_\d]+%$|\$[{(]|\$\w+$)|\.{3}|…|[xX]{4}|\*{3}|your|[-_]here\b|example(?![A-Z])|placeholder|^pass(?:word|wd)?$|redacted|change.?me|dummy/
const reference = /^(?:https?|file|arn):/
const type = /^(?:u?int|float|base|sha|utf-?|md|aes|hs|rs|es)-?\d+(?:url|\w*array)?(?![\w+/=])/i
const typeName = /^[A-Z]\w*(?:Array|Buffer|Credentials?|Key|Secret|String|Token)$/
/** Of code or of a file. */
const path = /^(?:[)\]]|[\w$.]+[([{]|[a-z_$][\w$]*(?:(?:\??\.|->|::)#?[a-z_$][\w$]*)+$|[.~]{0,2}\/|[a-z]:\\)/i
const words = /^[a-z]+(?:[-_./:][a-z0-9]+)+$/i
const base64 = /^(?=.*\d)(?=.*[A-Z])(?:[A-Za-z0-9+/]|%2[BFbf]){40,}/
/** No words with a number, as in names of types; without one, capitals stand together twice. */
const odd =
  /^(?=.*\d)(?=.*[A-Za-z])(?![A-Za-z]+\d{1,4}(?:[A-Z]{1,2}[a-z]{2,})*$).{8}|^(?=.{16})[^A-Z]*(?:[A-Z][^A-Z]+)*[A-Z]{2,}[^A-Z]+(?:[A-Z][^A-Z]+)*[A-Z]{2}/

/** It has a long piece of letters and digits. */
function isRandom(text: string): boolean {
  const isJoined = /^[\w-]+$/.test(text) && /[a-z][A-Z]|[A-Z]{2}[a-z]/.test(text)
  const pieces = (isJoined ? text.replace(/[-_]/g, '') : text).split(/[^A-Za-z0-9]+/)
  return base64.test(text) || pieces.some((piece) => odd.test(piece) && new Set(piece).size > 4)
}

const isPassword = (text: string) => /^(?=.*[A-Za-z])(?=.*[\d!@#%^&*+?~$=])[!-ÿ]{6,}$/.test(text)

function isSecret(name: string, text: string, isQuoted: boolean, isApart: () => boolean): boolean {
  if (text.length < 6 || !/[^a-z._/-]/.test(text)) return false
  if (text.length < 8 && !/^pass|^pwd/i.test(name)) return false
  if (placeholder.test(text) || type.test(text) || reference.test(text)) return false
  if (isRandom(text)) return text.length >= (isApart() ? 20 : 8)
  if (isApart() || (!isQuoted && (path.test(text) || typeName.test(text)))) return false
  if (/^pass[wp]|^pwd/i.test(name) && /^\d{6,}$/.test(text)) return true
  if (/^pass|^pwd/i.test(name)) return isPassword(text)
  return /^secret/i.test(name) && isPassword(text) && text.length > 7 && !words.test(text)
}

/** The end of what is longer than was needed to tell. */
const rest = /(?:(?!%(?:3B|2[026]))[^\s"'\x60<>;&])*/iy

function findAssigned({ stem, form }: Assignment, text: string, found: Parameters<Finder>[1]) {
  eachMatch(stem, text, ({ index: at }) => {
    if (stem === keys.stem && !isSecretKey(text, at)) return
    form.lastIndex = at
    const [match = '', name = '', written = ''] = form.exec(text) ?? []
    const from = at + match.length - written.length
    const isQuoted = /["']/.test(text.charAt(from - 1))
    const secret = isQuoted
      ? written.replace(/\\+$/, '')
      : written.replace(/(?:,(?=[\w"'{.-]+[:=])|%(?:3B|2[026])).*$|[,)\]}|.:!?\\*]+$/i, '')
    if (!isSecret(name, secret, isQuoted, () => isApart(text, at, from))) return
    rest.lastIndex = from + secret.length
    if (secret.length === maxTold) rest.test(text)
    found(from, rest.lastIndex)
    stem.lastIndex = rest.lastIndex
  })
}

/** Only spaces stand between the name and the value, and it is neither an option nor of a .netrc. */
const isApart = (text: string, name: number, from: number) =>
  /^\w+[ \t]+$/.test(text.slice(name, from)) &&
  !/(?:--[\w-]*|\blogin \S+ )$/.test(text.slice(Math.max(0, name - 64), name))

/** `wandb login …`, and in Python. */
const login = /wandb[. ]login[ (][^\r\n]{0,40}?\b([0-9a-f]{40})\b/g

/** Keys that only their names tell of. */
export const findNamedKeys: Finder = (text, found) => {
  findAssigned(keys, text, found)
  if (text.includes('wandb'))
    eachMatch(login, text, ({ index, 0: match }) => found(index + match.length - 40, index + match.length))
}

const cookies = /cookie["'\x60\\*\s]{0,8}[:=][ \t]{0,3}["'\x60\\[]{0,6}([^\r\n"'\x60\\]{6,4096})/gi
const sessionCookie = /=(?=[^;\s]{0,64}\d)(?=[^;\s]{0,64}[A-Za-z])[^;\s]{5}/
/** Of curl. */
const userOption = /(?:-u|--user)[ =]["']?[^\s:"']{1,64}:([^\s"']{6,128})/g

/** Passwords, tokens and sessions that only their names tell of. */
export const findNamedTokens: Finder = (text, found) => {
  findAssigned(tokens, text, found)
  eachMatch(cookies, text, ({ index, 0: match, 1: pairs = '' }) => {
    if (sessionCookie.test(pairs)) found(index + match.length - pairs.length, index + match.length)
  })
  if (text.includes('curl'))
    eachMatch(userOption, text, ({ index, 0: match, 1: password = '' }) => {
      if (isSecret('password', password, true, () => false))
        found(index + match.length - password.length, index + match.length)
    })
}
