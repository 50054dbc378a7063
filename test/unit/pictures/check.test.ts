import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkedPicture } from '../../../src/domain/pictures/check.ts'
import { headerOf } from '../../../src/domain/pictures/header.ts'
import { Refusal } from '../../../src/domain/refusals.ts'
import { gifOf, jpegOf, pngOf, webpOf } from '../../support/pictures.ts'

const urlOf = (type: string, bytes: Buffer) => `data:${type};base64,${bytes.toString('base64')}`

const formats = [
  ['image/png', pngOf],
  ['image/jpeg', jpegOf],
  ['image/gif', gifOf],
  ['image/webp', webpOf],
] as const

function refused(url: string, message: RegExp): void {
  assert.throws(
    () => checkedPicture(url, 'at'),
    (error) => error instanceof Refusal && error.status === 400 && message.test(error.message),
  )
}

for (const [type, pictureOf] of formats) {
  test(`a ${type} is known by its bytes, with its size`, () => {
    assert.deepEqual(headerOf(pictureOf(640, 480)), { type, width: 640, height: 480 })
    const whole = urlOf(type, pictureOf(8_000, 8_000))
    assert.equal(checkedPicture(whole, 'at'), whole)
    refused(urlOf(type, pictureOf(8_001, 1)), /^at: a picture of 8001 x 1 pixels; accepted: 1 to 8000 pixels/)
  })

  test(`a ${type} cut off anywhere, or with any byte changed, is accepted or refused by its field`, () => {
    const whole = pictureOf(4, 3)
    const isAccepted = (bytes: Buffer) => {
      try {
        checkedPicture(urlOf(type, bytes), 'at')
        return true
      } catch (error) {
        assert.ok(error instanceof Refusal && error.message.startsWith('at: '), String(error))
        return false
      }
    }
    const cut = Array.from(whole, (_, end) => isAccepted(whole.subarray(0, end)))
    assert.equal(cut.slice(0, 12).some(Boolean), false)
    for (let at = 0; at < whole.length; at++) {
      for (const byte of [0, 1, 0x7f, 0xd9, 0xff]) {
        const changed = Buffer.from(whole)
        changed[at] = byte
        isAccepted(changed)
      }
    }
  })
}

test('what clients declare does not matter, and other servers get plain base64', () => {
  const bytes = pngOf(4, 3)
  const data = bytes.toString('base64')
  const plain = urlOf('image/png', bytes)
  for (const head of [
    'image/jpg',
    'image/jpeg',
    'image',
    '',
    'application/octet-stream',
    'image/png;name=a.png',
  ]) {
    assert.equal(checkedPicture(`data:${head};base64,${data}`, 'at'), plain)
  }
  const odd = [
    data.replace(/.{1,76}/g, '$&\r\n'),
    ` ${data}`,
    data.replace(/=+$/, ''),
    bytes.toString('base64url'),
  ]
  for (const text of odd) assert.equal(checkedPicture(`data:image/png;base64,${text}`, 'at'), plain)
  assert.equal(checkedPicture('https://example.com/a.png', 'at'), 'https://example.com/a.png')
})

test('the smallest WebP and a JPEG without an end are pictures', () => {
  const smallest = 'UklGRhIAAABXRUJQVlA4TAYAAAAvQWxvAGsA'
  assert.deepEqual(headerOf(Buffer.from(smallest, 'base64'))?.type, 'image/webp')
  assert.equal(headerOf(jpegOf(4, 3).subarray(0, -2))?.fault, undefined)
})

test('what is no picture in base64 is refused', () => {
  const data = pngOf(4, 3).toString('base64')
  refused(urlOf('image/png', pngOf(65_535, 65_535)), /65535 x 65535/)
  refused(urlOf('image/png', pngOf(0, 3)), /0 x 3/)
  refused(urlOf('image/png', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>')), /no such picture/)
  refused('data:image/png;base64,no picture at all', /no such picture/)
  for (const url of [
    `data:image/png,${data}`,
    data,
    'file:///etc/passwd',
    '',
    'data:,',
    `data:${'a'.repeat(1_999)},`,
  ]) {
    refused(url, /neither data in base64 nor/)
  }
})

test('a request may be filled with what looks like the head of a picture', () => {
  const padded = Buffer.concat([Buffer.from([0xff, 0xd8]), Buffer.alloc(19_000_000, 0xff)])
  refused(urlOf('image/jpeg', padded), /is cut off/)
  refused(`data:image/png;base64,${'\n'.repeat(20_000_000)}`, /no such picture/)
})
