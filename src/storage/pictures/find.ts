import type { YieldToLoop } from '../../../packages/waiting/index.ts'
import { unescaped, wholeEscapes } from './escapes.ts'
import { type LineBreaks, lineBreaksIn, withoutLineBreaks } from './line-breaks.ts'

/** A picture, a sound or another file in base64 in a JSON text, by offsets into its bytes. */
export interface FoundPicture {
  /** Of its string, with the quotes. */
  from: number
  to: number
  /** Of the base64 within. */
  dataFrom: number
  dataTo: number
  breaks: LineBreaks | undefined
  /** As the request has it, or that of the first bytes. */
  type: string
  isUrl: boolean
}

/** Characters of base64; what is shorter stays in the call. */
export const minPictureCharacters = 1_024

/** Of one text; any others stay in the call. */
export const maxPicturesOfText = 256

/** Bytes that are searched in one step. */
const windowBytes = 64 * 1024
/** Longer than what comes before the base64. */
const headBytes = 256

/** What a data URL says, or first bytes: WebP and WAVE are both RIFF, and MP3 begins with a tag or with a frame. */
const beginning =
  /"(?:data:((?:image|audio|video)\\?\/[\w.+-]{1,64}|application\\?\/pdf);base64,|(?=(iVBORw0KGgo)|(\\?\/9j\\?\/)|(R0lGOD)|(UklGR(?:\\u00..|\\?[\w+/]){6}XRUJQ)|(UklGR(?:\\u00..|\\?[\w+/]){6}XQVZF)|(SUQz|\\?\/\\?\/[I-Po-v])))/g
const bareTypes = ['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'audio/wav', 'audio/mpeg']

/** Where requests have them: in a member of this name, or in a list. A sound begins like many other texts. */
const holder = /(?:"(?:url|image_url|data|file_data)":|[[,])$/
const holderOfSound = /"data":$/
const holderBytes = 12

const quote = 0x22
const behindValue = new Set([...',]}'].map((character) => character.charCodeAt(0)))

/** The text is JSON without spaces. Texts of messages are no pictures, whatever they contain. */
export async function picturesIn(json: Buffer, yieldToLoop: YieldToLoop): Promise<FoundPicture[]> {
  const found: FoundPicture[] = []
  for (let at = 0; at < json.length && found.length < maxPicturesOfText; ) {
    const end = at + windowBytes
    const characters = json.toString('latin1', at, Math.min(json.length, end + headBytes))
    let next = end
    beginning.lastIndex = 0
    for (let match = beginning.exec(characters); match !== null; match = beginning.exec(characters)) {
      const from = at + match.index
      if (from >= end || found.length === maxPicturesOfText) break
      const picture = pictureAt(json, from, match)
      if (picture === undefined) continue
      found.push(picture)
      next = Math.max(end, picture.to)
      beginning.lastIndex = picture.to - at
      if (picture.to >= end) break
    }
    at = next
    const pause = yieldToLoop()
    if (pause) await pause
  }
  return found
}

function pictureAt(json: Buffer, from: number, match: RegExpExecArray): FoundPicture | undefined {
  const [head, urlType, ...bare] = match
  const dataFrom = from + head.length
  const close = json.indexOf(quote, dataFrom)
  if (close - dataFrom <= minPictureCharacters || !behindValue.has(json[close + 1] ?? 0)) return undefined
  const type = urlType ?? bareTypes[bare.findIndex((start) => start !== undefined)] ?? ''
  const isBareSound = urlType === undefined && type.startsWith('audio/')
  const before = json.toString('latin1', Math.max(0, from - holderBytes), from)
  if (!(isBareSound ? holderOfSound : holder).test(before)) return undefined
  return {
    ...{ from, to: close + 1, dataFrom, ...lineBreaksIn(json, dataFrom, close) },
    ...{ type: type.replace('\\', ''), isUrl: urlType !== undefined },
  }
}

/** Makes pieces of bytes that are a little smaller than those of a file. */
const charactersAtOnce = 340 * 1024

/**
 * The bytes of a picture, in pieces. Ends with undefined if its base64 is not what these bytes would be written as:
 * it could not be given back.
 */
export function* bytesOfPicture(json: Buffer, picture: FoundPicture): Generator<Buffer | undefined, void> {
  let rest = ''
  for (const { characters, isLast } of piecesOf(json, picture)) {
    if (characters === undefined) return yield undefined
    const all = rest + characters
    const length = isLast ? all.length : all.length - (all.length % 4)
    rest = all.slice(length)
    const base64 = all.slice(0, length)
    const bytes = Buffer.from(base64, 'base64')
    const isWhole = isLast || bytes.length === (length / 4) * 3
    if (!isWhole || bytes.toString('base64') !== base64) return yield undefined
    yield bytes
  }
}

interface Piece {
  /** Undefined if the lines are not all like the first. */
  characters: string | undefined
  isLast: boolean
}

function* piecesOf(json: Buffer, { dataFrom, dataTo, breaks }: FoundPicture): Generator<Piece, void> {
  let restOfEscape = ''
  let restOfLine = ''
  for (let at = dataFrom; at < dataTo; at += charactersAtOnce) {
    const end = Math.min(dataTo, at + charactersAtOnce)
    const isLast = end === dataTo
    const raw = restOfEscape + json.toString('latin1', at, end)
    // Read when the rest of the escape, or of the line, has arrived.
    const whole = isLast ? raw.length : wholeEscapes(raw)
    restOfEscape = raw.slice(whole)
    const read = restOfLine + unescaped(raw.slice(0, whole))
    const ofLines = breaks?.length && !isLast
    const length = ofLines ? read.lastIndexOf(breaks.written) + breaks.written.length : read.length
    restOfLine = read.slice(length)
    const lines = read.slice(0, length)
    yield { characters: breaks?.length ? withoutLineBreaks(lines, breaks, isLast) : lines, isLast }
  }
}
