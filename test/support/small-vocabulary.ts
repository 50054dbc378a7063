import { namesPattern } from '../../packages/chat-format/index.ts'
import type { Vocabulary } from '../../packages/constraints/index.ts'
import { loadInProcess } from '../../packages/engine/index.ts'

const { hiddenParts } = await loadInProcess()

export interface SmallVocabulary extends Vocabulary {
  tokenize(text: string, options: { special: boolean; mark?: string }): number[]
}

/** Enough that tokens begin and end in the middle of marks, names and values. */
const usualWords = [
  'tool',
  '_call',
  '<tool',
  '>\n',
  '{"',
  '": ',
  '", "',
  '"}',
  'name',
  'arguments',
  ' the',
  'é',
  '</',
  '}\n',
]

/** Every byte, these words, and control tokens by their names; the first of `ends` ends a text. */
export function smallVocabulary({
  control = [],
  ends = ['<|im_end|>'],
  words = usualWords,
}: {
  control?: readonly string[]
  ends?: readonly string[]
  words?: readonly string[]
} = {}): SmallVocabulary {
  const letters = [...Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte)), ...words.map(bytesOf)]
  const names = [...new Set([...ends, '<|im_start|>', ...control])]
  const all = [...letters, ...names.map(bytesOf)]
  const tokenOf = (name: string) => letters.length + names.indexOf(name)
  const byLength = words
    .map((word, at) => ({ bytes: Buffer.from(word), token: 256 + at }))
    .sort((one, other) => other.bytes.length - one.bytes.length)
  const byName = namesPattern(names)

  function tokensOf(text: string): number[] {
    const bytes = Buffer.from(text)
    const tokens: number[] = []
    for (let at = 0; at < bytes.length; ) {
      const word = byLength.find(({ bytes: word }) => bytes.subarray(at, at + word.length).equals(word))
      tokens.push(word?.token ?? (bytes[at] as number))
      at += word?.bytes.length ?? 1
    }
    return tokens
  }

  function withNames(text: string): number[] {
    return text.split(byName).flatMap((part) => (names.includes(part) ? [tokenOf(part)] : tokensOf(part)))
  }

  return {
    size: all.length,
    eos: tokenOf(ends[0] as string),
    ends: ends.map(tokenOf),
    bytes: (token) => all[token] as Uint8Array,
    isSpecial: (token) => token >= letters.length,
    tokenize: (text, { special, mark }) => {
      const parts = mark === undefined ? [{ text, special }] : hiddenParts(text, mark, byName)
      return Array.from(parts, (part) => (part.special ? withNames(part.text) : tokensOf(part.text))).flat()
    },
  }
}

const bytesOf = (text: string) => new Uint8Array(Buffer.from(text))
