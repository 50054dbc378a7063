/** llama.cpp's kinds of vocabularies: `llama_vocab_type` in llama.h. */
const SENTENCE_PIECE = 1
export const BYTE_PAIRS = 2
export const WORD_PIECES = 3
const UNIGRAM = 4

/** `llama_token_attr` in llama.h. */
const UNKNOWN = 1
const CONTROL = 8
const USER_DEFINED = 16
const BYTE = 32

export const isControl = (attributes: number) => (attributes & CONTROL) !== 0
export const isUnknown = (attributes: number) => (attributes & UNKNOWN) !== 0

export function isSpecial(attributes: number): boolean {
  return isUnknown(attributes) || isControl(attributes)
}

/** The bytes of a token, from the way in which its vocabulary writes it; undefined for an unknown kind of vocabulary. */
export function tokenBytes(written: string, attributes: number, kind: number): Uint8Array | undefined {
  if ((attributes & (UNKNOWN | CONTROL | USER_DEFINED)) !== 0) return Buffer.from(written)
  switch (kind) {
    case BYTE_PAIRS:
      return ofByteSymbols(written)
    case SENTENCE_PIECE:
    case UNIGRAM:
    case WORD_PIECES:
      return (attributes & BYTE) === 0 ? Buffer.from(written.replaceAll('▁', ' ')) : ofByteName(written)
    default:
      return undefined
  }
}

/** `<0xE2>` */
function ofByteName(written: string): Uint8Array | undefined {
  const name = /^<0x([0-9A-F]{2})>$/.exec(written)?.[1]
  return name === undefined ? undefined : Uint8Array.of(Number.parseInt(name, 16))
}

function ofByteSymbols(written: string): Uint8Array {
  const bytes = Array.from(written, (symbol) => bytesOfSymbols.get(symbol))
  // A vocabulary may have a token that is not made of byte names, which stands for itself.
  return bytes.every((byte) => byte !== undefined)
    ? Buffer.from(bytes)
    : Buffer.concat(
        Array.from(written, (symbol, i) =>
          bytes[i] === undefined ? Buffer.from(symbol) : Uint8Array.of(bytes[i]),
        ),
      )
}

/**
 * GPT-2's printable names of the 256 bytes: those that are printable in Latin-1 name themselves, the others follow from
 * U+0100 on. https://github.com/openai/gpt-2/blob/master/src/encoder.py (bytes_to_unicode)
 */
const bytesOfSymbols = new Map<string, number>()
for (let byte = 0, moved = 0; byte < 256; byte++) {
  const printable = (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte !== 0xad)
  bytesOfSymbols.set(String.fromCharCode(printable ? byte : 0x100 + moved++), byte)
}
