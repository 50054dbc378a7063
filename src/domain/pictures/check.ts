import { type Refusal, refuse } from '../refusals.ts'
import { headerOf } from './header.ts'

const maxPictures = 20

/** Of all pictures of a request together, unpacked from base64. */
const maxPictureBytes = 20_000_000

/** Pixels of a side. */
const maxPictureSide = 8_000

/** Checks one more picture of a request; `field` is the path of its address or data. */
export type PictureCheck = (url: string, field: string) => void

const types = 'image/png, image/jpeg, image/gif, image/webp'
const accepted = `a whole picture as data:TYPE;base64,… with one of the types ${types}`

/** Longer than any head of an accepted data URL. */
const maxHead = 64

/**
 * The check of the pictures of one request, the same for every API. An address of another host is never fetched: it
 * is passed on for the server that answers.
 */
export function createPictureCheck(): PictureCheck {
  let pictures = 0
  let bytes = 0
  return (url, field) => {
    if (++pictures > maxPictures)
      throw wrong(field, 'one more picture', `at most ${maxPictures} in a request`)
    if (/^https?:\/\//i.test(url)) return
    const { type, data } = dataOf(url, field)
    bytes += Math.floor((data.length * 3) / 4)
    // Before anything is unpacked.
    if (bytes > maxPictureBytes) {
      throw wrong(field, `${bytes} bytes of pictures`, `at most ${maxPictureBytes} in a request`)
    }
    checkHeader(unpacked(data, field), type, field)
  }
}

function dataOf(url: string, field: string): { type: string; data: string } {
  const comma = url.slice(0, maxHead).indexOf(',')
  const [, type] = /^data:([^;,]*);base64$/i.exec(url.slice(0, Math.max(comma, 0))) ?? []
  if (type === undefined) {
    throw wrong(field, 'neither data in base64 nor the address of a web page', `${accepted}, or an https URL`)
  }
  const data = url.slice(comma + 1)
  return {
    // Some clients name JPEG by the end of its files.
    type: type.toLowerCase().replace(/jpg$/, 'jpeg'),
    // Lines of base64 as mail and command lines wrap them.
    data: data.includes('\n') ? data.replace(/[\r\n]/g, '') : data,
  }
}

/** `Buffer` skips what is no base64, so a wrong character shows in the length. */
function unpacked(data: string, field: string): Buffer {
  const padding = data.endsWith('==') ? 2 : data.endsWith('=') ? 1 : 0
  const bytes = Buffer.from(data, 'base64')
  const isWhole = data.length % 4 === 0 && bytes.length === (data.length / 4) * 3 - padding
  // Those of base64url, which few servers read.
  if (isWhole && !data.includes('-') && !data.includes('_')) return bytes
  throw wrong(field, 'data that is not base64', 'base64 with its padding and without spaces')
}

function checkHeader(bytes: Buffer, type: string, field: string): void {
  const header = headerOf(bytes)
  if (header === undefined) throw wrong(field, 'data that is no such picture', accepted)
  if (header.type !== type) {
    throw wrong(field, `${JSON.stringify(type)}, but the bytes are ${header.type}`, header.type)
  }
  const { width, height, fault } = header
  if (fault !== undefined) throw wrong(field, `a picture that ${fault}`, accepted)
  if (Math.min(width, height) < 1 || Math.max(width, height) > maxPictureSide) {
    const sides = `1 to ${maxPictureSide} pixels on each side`
    throw wrong(field, `a picture of ${width} x ${height} pixels`, sides)
  }
}

const wrong = (field: string, value: string, accepted: string): Refusal =>
  refuse('invalid_value', { field, given: value, accepted })
