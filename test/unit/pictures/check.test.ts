import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPictureCheck } from '../../../src/domain/pictures/check.ts'
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
    () => createPictureCheck()(url, 'at'),
    (error) => error instanceof Refusal && error.status === 400 && message.test(error.message),
  )
}

for (const [type, pictureOf] of formats) {
  test(`a ${type} is known by its bytes, with its size`, () => {
    assert.deepEqual(headerOf(pictureOf(640, 480)), { type, width: 640, height: 480 })
    createPictureCheck()(urlOf(type, pictureOf(8_000, 8_000)), 'at')
    refused(urlOf(type, pictureOf(8_001, 1)), /^at: a picture of 8001 x 1 pixels; accepted: 1 to 8000 pixels/)
    const other = type === 'image/png' ? 'image/gif' : 'image/png'
    refused(urlOf(other, pictureOf(4, 3)), new RegExp(`^at: "${other}", but the bytes are ${type}`))
  })

  test(`a ${type} cut off anywhere, or with any byte changed, is accepted or refused by its field`, () => {
    const whole = pictureOf(4, 3)
    for (let end = 0; end < whole.length - 8; end++) refused(urlOf(type, whole.subarray(0, end)), /^at: /)
    for (let at = 0; at < whole.length; at++) {
      for (const byte of [0, 1, 0x7f, 0xd9, 0xff]) {
        const changed = Buffer.from(whole)
        changed[at] = byte
        try {
          createPictureCheck()(urlOf(type, changed), 'at')
        } catch (error) {
          assert.ok(error instanceof Refusal && error.message.startsWith('at: '), String(error))
        }
      }
    }
  })
}

test('base64 in lines and image/jpg are accepted, as some clients send them', () => {
  const lines = pngOf(4, 3)
    .toString('base64')
    .replace(/.{1,76}/g, '$&\r\n')
  createPictureCheck()(`data:image/png;base64,${lines}`, 'at')
  createPictureCheck()(urlOf('image/jpg', jpegOf(4, 3)), 'at')
  refused(urlOf('image/jpg', pngOf(4, 3)), /but the bytes are image\/png/)
})

test('what is no picture in base64 is refused', () => {
  const data = pngOf(4, 3).toString('base64')
  refused(urlOf('image/png', pngOf(65_535, 65_535)), /65535 x 65535/)
  refused(urlOf('image/png', pngOf(0, 3)), /0 x 3/)
  refused(urlOf('image/png', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>')), /no such picture/)
  refused(`data:image/png;base64,${data.slice(0, 40)} ${data.slice(40)}`, /not base64/)
  refused(`data:image/png;base64,${data}=`, /not base64/)
  refused(`data:image/png;base64,${data.slice(0, 40)}-_-_${data.slice(40)}`, /not base64/)
  for (const url of [
    `data:image/png,${data}`,
    data,
    'file:///etc/passwd',
    '',
    'data:,',
    `data:${'a'.repeat(99)},`,
  ]) {
    refused(url, /neither data in base64 nor/)
  }
})

test('a request has at most 20 pictures and 20 MB of them, addresses among them', () => {
  const check = createPictureCheck()
  for (let index = 0; index < 20; index++) check(`https://example.com/${index}.png`, `${index}`)
  assert.throws(() => check('https://example.com/20.png', '20'), /20: one more picture; accepted: at most 20/)
  const large = createPictureCheck()
  const half = urlOf('image/png', pngOf(4, 3, 9_999_900))
  large(half, 'first')
  large(half, 'second')
  assert.throws(() => large(urlOf('image/png', pngOf(4, 3, 300)), 'third'), /third: \d+ bytes of pictures/)
})
