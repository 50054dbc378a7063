import { wrong } from '../refusals.ts'
import { headerOf } from './header.ts'

/** Pixels of a side. */
const maxPictureSide = 8_000

const accepted = 'a PNG, JPEG, GIF or WebP in base64 (data:image/png;base64,…) or an https URL'

/** Longer than any head of a data URL, which may name a file. */
const maxHead = 1_024

/** Returns the address as other servers read it; `field` is its path in the request. */
export type PictureCheck = (url: string, field: string) => string

/**
 * A picture as a data URL whose type is that of its bytes, in base64 without spaces: what clients declare is often
 * wrong, and decoders differ in what they skip. An address of another host is never fetched: it is passed on.
 */
export const checkedPicture: PictureCheck = (url, field) => {
  if (/^https?:\/\//i.test(url)) return url
  const comma = url.slice(0, maxHead).indexOf(',')
  if (!/^data:[^,]*;base64$/i.test(url.slice(0, Math.max(comma, 0)))) {
    throw wrong(field, 'neither data in base64 nor the address of a web page', accepted)
  }
  const data = url.slice(comma + 1)
  const bytes = Buffer.from(data, 'base64')
  const header = headerOf(bytes)
  if (header === undefined) throw wrong(field, 'data that is no such picture', accepted)
  const { type, width, height, fault } = header
  if (fault !== undefined) throw wrong(field, `a picture that ${fault}`, accepted)
  if (Math.min(width, height) < 1 || Math.max(width, height) > maxPictureSide) {
    const sides = `1 to ${maxPictureSide} pixels on each side`
    throw wrong(field, `a picture of ${width} x ${height} pixels`, sides)
  }
  return `data:${type};base64,${isCanonical(data, bytes) ? data : bytes.toString('base64')}`
}

/** `Buffer` skips what is no base64, so anything else shows in the length, but for base64url. */
function isCanonical(data: string, bytes: Buffer): boolean {
  const padding = data.endsWith('==') ? 2 : data.endsWith('=') ? 1 : 0
  const isWhole = data.length % 4 === 0 && bytes.length === (data.length / 4) * 3 - padding
  return isWhole && !data.includes('-') && !data.includes('_')
}
