import { eachMatch, type Finder, hyphens, leftOfNumber, spaces } from './spans.ts'

/** An at sign, as URLs and HTML write it, and as JSON within JSON may. */
const atSigns = ['@', '%40', '%2540', '&#64;', '\\u0040']
/** Scripts that put no space between words: there an address begins after them, unless it is written in them. */
const unspaced = String.raw`\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}`
const localCharacter = new RegExp(String.raw`[\w.%+'-]|(?![${unspaced}])[\p{L}\p{M}]`, 'u')
const anyLetter = /[\p{L}\p{M}]/u
const maxLocal = 128
/** Names of up to eight labels, the last of letters: `pkg@1.2.3` is a version, and `logo@2x.png` a picture. */
const domain =
  /(?:(?:[\p{L}\p{N}]|%[c-f][\da-f])(?:[\p{L}\p{M}\p{N}-]|%[89a-f][\da-f]){0,62}\.){1,8}(?!(?:png|jpe?g|gif|webp|svg)\b)(?:xn--[a-z0-9-]{2,59}(?![a-z0-9])|\p{sc=Latin}{2,24}(?![a-z0-9])|(?!\p{sc=Latin})\p{L}[\p{L}\p{M}]{1,23})|(?:\[|%5B)(?:IPv6(?::|%3A)[\da-f:.%]{2,80}?|\d{1,3}(?:\.\d{1,3}){3})(?:\]|%5D)/iuy
/** Versions, and what code calls after an operator that is an at sign: `x@w.to(device)`. */
const noDomain = /^v?\d+\.\d+\.|\.(?!com|org|net|edu|gov)\w+\($/
const quotedLocal = /(?:(?<![\w'.)}\]])|(?<=\[[\d;]{1,12}m|\\[bfnrt]))\\?"[^"\s,:;][^"\r\n]{0,63}"$/

/** E-mail addresses: each is found by its at sign, so that a text without one takes no time. */
export const findEmails: Finder = (text, found) => {
  for (const sign of atSigns) {
    for (let at = text.indexOf(sign); at !== -1; at = text.indexOf(sign, at + 1)) {
      domain.lastIndex = at + sign.length
      if (!domain.test(text) || noDomain.test(text.slice(at + sign.length, domain.lastIndex + 1))) continue
      const end = domain.lastIndex
      let from = localStart(text, at, localCharacter)
      if (from === at) from = localStart(text, at, anyLetter)
      if (from === at) from -= quotedLocal.exec(text.slice(Math.max(0, at - 70), at))?.[0].length ?? 0
      // The second character of a line break within JSON within JSON.
      if (text.charAt(from - 1) === '\\' && /[bfnrt]/.test(text.charAt(from)) && from < at - 1) from++
      // The end of a colour of a terminal.
      if (/[[;]/.test(text.charAt(from - 1))) from += /^\d{1,3}m/.exec(text.slice(from, at))?.[0].length ?? 0
      const local = text.slice(from, at)
      // The user of every repository, in addresses such as git@example.com:group/name.
      if (local !== '' && local !== 'git') found(from, end)
    }
  }
}

function localStart(text: string, at: number, character: RegExp): number {
  let from = at
  while (from > 0 && at - from < maxLocal && character.test(text.charAt(from - 1))) from--
  return from
}

/** As Americans write it after a number: x123. */
const extension = String.raw`(?: ?x\d{1,6})?`
/** Between two of these numbers, an en dash says from where to where. */
const hyphensWithin = String.raw`\u2010-\u2012\uff0d-`
const international = new RegExp(
  String.raw`${leftOfNumber}(?<![)+])(?:(?:\+|%(?:25)?2[Bb]|\\u002[Bb])[1-9]\d{0,2}|00[1-9]\d{0,2}(?=[${spaces}./${hyphens}]))(?:(?! -\d)[${spaces}.()/${hyphensWithin}]{0,2}\d){5,12}${extension}(?![\w]|[.,]\d)`,
  'g',
)
const northAmerican = new RegExp(
  String.raw`${leftOfNumber}(?:1[${spaces}${hyphens}])?(?:\([2-9]\d{2}\)[${spaces}]?|[2-9]\d{2}[${hyphens}])\d{3}[${hyphens}]\d{4}${extension}(?![\w]|[${hyphens}]\w)`,
  'g',
)
/** With dots, which stand in versions and addresses, too: nothing may be longer. */
const dotted = new RegExp(
  String.raw`${leftOfNumber}(?:1\.)?[2-9]\d{2}\.\d{3}\.\d{4}${extension}(?![\w]|[.${hyphens}]\w)`,
  'g',
)
/** As amounts are typeset in French, where plain spaces would be of a telephone number; and coordinates. */
const amount = /^\+\d{1,3}(?:(?:[\u2007\u2009\u202f]\d{3})+|\.\d{5,7})$/

/** As at home, which only the word before it tells from other numbers. */
const national = new RegExp(
  String.raw`\d(?<![\w.]\d)(?:[${spaces}./()${hyphens}]{0,3}\d){6,14}(?![\w]|[.,]\d)`,
  'g',
)
const phoneNoun =
  '(?:phone|(?<![A-Za-z])(?:tel(?:efon|[eé]fono|[eé]phone)?|mobile|mobil|fax|handy|whatsapp|sms|rufnummer|celular|m[oó]vil))'
const behindNoun = new RegExp(
  String.raw`${phoneNoun}(?:[ _-]?(?:phone|no|nr|num|number|nummer|n[uú]mero)){0,2}["'\\:=.#\s]{1,16}(?:(?:is|ist|est|es)\s)?["'\\]{0,8}$`,
  'i',
)
/** Dates, years, versions and addresses of machines. */
const otherNumber =
  /^(?:\d{4}\D\d{1,2}\D\d{1,2}(?!\d)|\d{1,2}\D\d{1,2}\D\d{4}(?!\d)|(?:19|20)\d\d\D{1,3}(?:19|20)\d\d$|\d{1,4}(?:\.\d{1,5}){2,3}$)/
/** Keys of JSON whose values may be known by them only. */
export const phoneName = new RegExp(`${phoneNoun}(?:[ _-]?(?:phone|no|nr|num|number))?$`, 'i')

function findNamedPhones(text: string, found: Parameters<Finder>[1]): void {
  eachMatch(national, text, ({ index, 0: number }) => {
    const from = text.charAt(index - 1) === '(' ? index - 1 : index
    if (behindNoun.test(text.slice(Math.max(0, from - 64), from)) && !otherNumber.test(number))
      found(from, index + number.length)
  })
}

/**
 * Telephone numbers as they are dialled from abroad, those of North America with their hyphens or dots, and any after a
 * word that says so.
 */
export const findPhones: Finder = (text, found) => {
  eachMatch(international, text, ({ index, 0: number }) => {
    const digits = number.replace(/^(?:%(?:25)?2|\\u002)b/i, '').replace(/\D/g, '')
    if (digits.length >= (digits.startsWith('00') ? 11 : 8) && !amount.test(number))
      found(index, index + number.length)
  })
  for (const form of [northAmerican, dotted])
    eachMatch(form, text, ({ index, 0: number }) => found(index, index + number.length))
  findNamedPhones(text, found)
}

/** The lengths of card numbers, by their first digits. 13 digits are left out: every tenth bar code would be one. */
const brands: readonly (readonly [RegExp, readonly number[]])[] = [
  [/^4/, [16, 19]],
  [/^(?:5[1-5]|220[0-4]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720)/, [16]],
  [/^3[47]/, [15]],
  [/^3(?:0[0-5]|[689])/, [14]],
  [/^(?:6011|64[4-9]|65|35(?:2[89]|[3-8]))/, [16]],
  [/^62/, [16, 17, 18, 19]],
  [/^(?:50(?:18|20|38)|6304|6759|676[1-3])/, [16]],
]

const lengthsOf = (number: string) => brands.find(([first]) => first.test(number))?.[1] ?? []

const digitRun = new RegExp(String.raw`${leftOfNumber}[2-6](?:[${spaces}${hyphens}]?\d){13,18}`, 'g')
/** Dots stand between whole groups only. */
const dottedCard = new RegExp(
  String.raw`${leftOfNumber}[2-6]\d{3}\.(?:\d{4}\.\d{4}\.\d{4}|\d{6}\.\d{4,5})`,
  'g',
)
/** Nothing that would make it a part of a longer name or number. */
const cardEnd = /(?:$|[^\w.-]|[.-](?!\w))/y

/** Payment cards: first digits and length of a brand, and the check digit of Luhn. */
export const findCards: Finder = (text, found) => {
  eachMatch(dottedCard, text, ({ index, 0: run }) => {
    const end = index + run.length
    const number = run.replaceAll('.', '')
    cardEnd.lastIndex = end
    if (lengthsOf(number).includes(number.length) && cardEnd.test(text) && passesLuhn(number))
      found(index, end)
  })
  eachMatch(digitRun, text, ({ index, 0: run }) => {
    const ends = endsOf(run, isDigit)
    const number = ends.map((end) => run.charAt(end - 1)).join('')
    const length = lengthsOf(number).find((digits) => {
      const end = ends[digits - 1]
      if (end === undefined) return false
      cardEnd.lastIndex = index + end
      return cardEnd.test(text) && passesLuhn(number.slice(0, digits))
    })
    const end = length === undefined ? undefined : ends[length - 1]
    if (end !== undefined) found(index, index + end)
    // A card may begin with a later group of the same run: where its digits are first interrupted. Those of a
    // percent-encoded sign are no part of it.
    const next = ends.findIndex((at, count) => at !== count + 1)
    const sign = /%(?:25)?$/.test(text.slice(Math.max(0, index - 3), index)) ? 2 : run.length
    digitRun.lastIndex = index + (end ?? Math.min(next === -1 ? run.length : next, sign))
  })
}

const isDigit = (code: number) => code >= 48 && code <= 57
const isLetter = (code: number) => (code >= 65 && code <= 90) || (code >= 97 && code <= 122)

/** Where each character of a number ends, among the separators. */
function endsOf(run: string, counts: (code: number) => boolean): number[] {
  const ends: number[] = []
  for (let at = 0; at < run.length; at++) if (counts(run.charCodeAt(at))) ends.push(at + 1)
  return ends
}

function passesLuhn(number: string): boolean {
  let sum = 0
  for (let i = 0; i < number.length; i++) {
    const digit = number.charCodeAt(number.length - 1 - i) - 48
    const doubled = digit * 2
    sum += i % 2 === 0 ? digit : doubled > 9 ? doubled - 9 : doubled
  }
  return sum % 10 === 0
}

/** Lengths of IBANs by country, from the registry of ISO 13616. */
const ibanLengths: Readonly<Record<string, number>> = Object.fromEntries(
  [
    'AD24,AE23,AL28,AT20,AZ28,BA20,BE16,BG22,BH22,BI27,BR29,BY28,CH21,CR22,CY28,CZ24,DE22,DJ27,DK18,DO28,EE20,EG29,ES24',
    'FI18,FK18,FO18,FR27,GB22,GE22,GI23,GL18,GR27,GT28,HN28,HR21,HU28,IE22,IL23,IQ23,IS26,IT27,JO30,KW30,KZ20,LB28,LC32',
    'LI21,LT20,LU20,LV21,LY25,MC27,MD24,ME22,MK19,MN20,MR27,MT31,MU30,NI28,NL18,NO15,OM23,PK24,PL28,PS29,PT25,QA29,RO24',
    'RS22,RU33,SA24,SC31,SD18,SE24,SI19,SK24,SM27,SO23,ST25,SV28,TL23,TN24,TR26,UA29,VA22,VG24,XK20,YE30',
  ]
    .flatMap((line) => line.split(','))
    .map((entry) => [entry.slice(0, 2), Number(entry.slice(2))]),
)

const ibanGroups = (separator: string) =>
  `(?:${separator}[A-Za-z0-9]{4}){2,7}(?:${separator}[A-Za-z0-9]{1,3})?`
/** In one piece, or in groups of four. With hyphens in all of them: those of a UUID stand elsewhere. */
const ibanStart = new RegExp(
  String.raw`(?:(?<![A-Za-z0-9])|(?<=\\[bfnrt]|%(?:25)?[0-9A-Fa-f]{2}|\[[\d;]{1,12}m))[A-Za-z]{2}\d{2}(?:${ibanGroups(`[${spaces}]?`)}|${ibanGroups(`[${hyphens}]`)})`,
  'g',
)

/** Bank accounts: the length of the country, and the remainder of 1 that its check digits make. */
export const findIbans: Finder = (text, found) => {
  eachMatch(ibanStart, text, ({ index, 0: run }) => {
    const length = ibanLengths[run.slice(0, 2).toUpperCase()]
    const last =
      length === undefined ? undefined : endsOf(run, (code) => isDigit(code) || isLetter(code))[length - 1]
    const end = last === undefined ? undefined : index + last
    const isIban =
      end !== undefined && !/[A-Za-z0-9]/.test(text.charAt(end)) && passesMod97(text.slice(index, end))
    if (isIban) found(index, end)
    ibanStart.lastIndex = isIban ? end : index + 4
  })
}

function passesMod97(account: string): boolean {
  const compact = account.replace(/[^A-Za-z0-9]/g, '').toUpperCase()
  let rest = 0
  for (const character of compact.slice(4) + compact.slice(0, 4)) {
    const value = Number.parseInt(character, 36)
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97
  }
  return rest === 1
}
