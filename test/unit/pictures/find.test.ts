import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createYieldToLoop } from '../../../packages/waiting/index.ts'
import { bytesOfPicture, maxPicturesOfText, picturesIn } from '../../../src/storage/pictures/find.ts'
import { lineBreaksOf, lineWriter } from '../../../src/storage/pictures/line-breaks.ts'
import { gifOf, jpegOf, pngOf, webpOf } from '../../support/pictures.ts'

const find = async (value: unknown) => {
  const json = Buffer.from(typeof value === 'string' ? value : JSON.stringify(value))
  return { json, found: await picturesIn(json, createYieldToLoop()) }
}

/** Undefined if it could not be given back. */
function bytesIn(json: Buffer, picture: Parameters<typeof bytesOfPicture>[1]): Buffer | undefined {
  const bytes = [...bytesOfPicture(json, picture)]
  return bytes.includes(undefined) ? undefined : Buffer.concat(bytes as Buffer[])
}

const long = (start: Buffer, length = 1_200) => Buffer.concat([start, Buffer.alloc(length, 0xfb)])

test('a picture is found wherever it begins, also where a search ends', async () => {
  const png = long(pngOf(4, 3))
  for (let at = 65_200; at < 65_560; at++) {
    const { json, found } = await find({
      a: 'x'.repeat(at),
      url: `data:image/png;base64,${png.toString('base64')}`,
    })
    assert.equal(found.length, 1, `${at}`)
    const [picture] = found as [(typeof found)[0]]
    assert.deepEqual(bytesIn(json, picture), png)
    assert.equal(json.toString('latin1', picture.from, picture.from + 6), '"data:')
  }
})

test('base64 alone is a picture by its first bytes, in members and lists', async () => {
  const all = [pngOf(1, 1), jpegOf(1, 1), gifOf(1, 1), webpOf(1, 1)].map((start) => long(start))
  const images = all.map((bytes) => bytes.toString('base64'))
  for (const value of [{ images }, images.map((data) => ({ data })), { é: '🐈', images }]) {
    const { json, found } = await find(value)
    assert.deepEqual(
      found.map(({ type, isUrl }) => [type, isUrl]),
      ['png', 'jpeg', 'gif', 'webp'].map((type) => [`image/${type}`, false]),
    )
    assert.deepEqual(
      found.map((picture) => bytesIn(json, picture)),
      all,
    )
  }
})

test('a sound is told from a picture, though WAVE begins as WebP does', async () => {
  const wave = Buffer.concat([Buffer.from('RIFF'), Buffer.alloc(4), Buffer.from('WAVE')])
  for (const [start, type] of [
    [wave, 'audio/wav'],
    [Buffer.from('ID3\x04'), 'audio/mpeg'],
    [Buffer.from([0xff, 0xfb, 0x90, 0x64]), 'audio/mpeg'],
    [Buffer.from([0xff, 0xf3, 0x40, 0xc4]), 'audio/mpeg'],
  ] as const) {
    const bytes = long(start)
    const { json, found } = await find({ input_audio: { data: bytes.toString('base64'), format: 'wav' } })
    assert.deepEqual(
      found.map((sound) => [sound.type, bytesIn(json, sound)]),
      [[type, bytes]],
    )
  }
})

test('a text of a list that begins as a sound does is none', async () => {
  const letters = long(Buffer.from('x')).toString('base64')
  for (const start of ['SUQz', '//Pa']) {
    const { found } = await find({ input: [start + letters], stop: [start + letters], url: start + letters })
    assert.deepEqual(found, [])
  }
})

test('sounds, films and documents in data URLs are found, and other types are not', async () => {
  const data = long(Buffer.from('x')).toString('base64')
  const types = ['audio/ogg', 'video/mp4', 'application/pdf', 'text/plain', 'application/json']
  const { found } = await find(types.map((type) => ({ file_data: `data:${type};base64,${data}` })))
  assert.deepEqual(
    found.map(({ type }) => type),
    types.slice(0, 3),
  )
})

test('escaped slashes are read wherever a piece ends', async () => {
  // The base64 of these bytes is nothing but slashes.
  for (let length = 261_100; length < 261_140; length++) {
    const bytes = long(Buffer.concat([pngOf(4, 3), Buffer.alloc(length, 0xff)]), 3)
    const url = `data:image/png;base64,${bytes.toString('base64')}`
    const { json, found } = await find(JSON.stringify({ url }).replaceAll('/', '\\/'))
    assert.equal(found[0]?.type, 'image/png')
    assert.ok(bytesIn(json, found[0])?.equals(bytes), `${length}`)
  }
})

test('base64 in lines is read, and written in the same lines', async () => {
  for (const [width, lineBreak, end] of [
    ...[[76, '\n', '\n'] as const, [76, '\r\n', ''] as const, [64, '\n', ''] as const],
    ...[[76, '\r\n', '\r\n'] as const, [0, '', '\n'] as const, [0, '', '\r\n'] as const],
  ]) {
    for (const length of [1_200, 1_254, 261_111, 600_000]) {
      const png = long(Buffer.concat([pngOf(4, 3), Buffer.alloc(30, 0xff)]), length)
      const lines = width === 0 ? [png.toString('base64')] : png.toString('base64').match(/.{1,76}/g)
      const plain = width === 64 ? png.toString('base64').match(/.{1,64}/g) : lines
      const data = (plain ?? []).join(lineBreak) + end
      for (const json of [
        JSON.stringify({ data }),
        JSON.stringify({ url: `data:image/png;base64,${data}` }).replaceAll('/', '\\/'),
      ]) {
        const { json: bytes, found } = await find(json)
        const [picture] = found as [(typeof found)[0]]
        assert.ok(bytesIn(bytes, picture)?.equals(png), `${width} ${JSON.stringify(lineBreak)} ${length}`)
        assert.equal(picture.to, bytes.length - 1)
        const write = lineWriter(lineBreaksOf(JSON.parse(JSON.stringify(picture.breaks))))
        const [start, rest] = [png.toString('base64', 0, 999), png.toString('base64', 999)]
        assert.equal(JSON.parse(`"${write(start, false)}${write(rest, true)}"`), data)
      }
    }
  }
})

test('the escapes of other encoders are read wherever a piece ends', async () => {
  const escapes = { '+': '\\u002B', '/': '\\u002f', '=': '\\u003d', '\\n': '\\u000a', '\\r': '\\u000D' }
  const escaped = (json: string) =>
    json.replace(/(data:image.png;base64,|"data":")(.*)"/, (_, head: string, data: string) => {
      const written = data.replace(/[+/=]|\\[nr]/g, (text) => escapes[text as keyof typeof escapes])
      return `${head}${written}"`
    })
  for (const lineBreak of ['', '\n', '\r\n']) {
    for (const before of [0, 3, 6, 9, 12, 15]) {
      // Then nothing but plus signs, then nothing but slashes.
      const plus = Buffer.alloc(60_000, Buffer.from('++++', 'base64'))
      const png = Buffer.concat([pngOf(4, 3, 2 + before), plus, Buffer.alloc(9_999, 0xff)])
      const data =
        png
          .toString('base64')
          .match(/.{1,76}/g)
          ?.join(lineBreak) + lineBreak
      for (const sent of [{ data }, { url: `data:image/png;base64,${data}` }]) {
        const { json, found } = await find(escaped(JSON.stringify(sent)))
        const [picture] = found as [(typeof found)[0]]
        assert.ok(bytesIn(json, picture)?.equals(png), `${JSON.stringify(lineBreak)} ${before}`)
        const write = lineWriter(lineBreaksOf(JSON.parse(JSON.stringify(picture.breaks ?? null))))
        assert.equal(JSON.parse(`"${write(png.toString('base64'), true)}"`), data)
      }
    }
  }
  const webp = long(webpOf(4, 3))
  const { json, found } = await find(escaped(JSON.stringify({ data: webp.toString('base64') })))
  assert.ok(bytesIn(json, found[0] as (typeof found)[0])?.equals(webp))
})

test('base64 in other lines is left', async () => {
  const base64 = long(pngOf(4, 3), 300_000).toString('base64')
  const lines = base64.match(/.{1,76}/g) ?? []
  for (const data of [
    `${base64.slice(0, 76)}\n${base64.slice(76)}`,
    `${lines.slice(0, 9).join('\n')}\n${base64.slice(9 * 76)}`,
    `${lines.join('\n')}\n\n`,
    lines.join('\n\n'),
    `${lines.slice(0, 9).join('\n')}\r\n${lines.slice(9).join('\n')}`,
    ` ${lines.join('\n')}`,
    base64.match(/.{1,12}/g)?.join('\n'),
    base64.match(/.{1,2000}/g)?.join('\n'),
  ]) {
    const { json, found } = await find({ url: `data:image/png;base64,${data}` })
    const [picture] = found as [(typeof found)[0]]
    assert.equal(bytesIn(json, picture), undefined, JSON.stringify(data?.slice(0, 100)))
  }
  for (const value of [null, 'x', { length: 0.1, written: '\\n' }, { length: 76, written: 'long' }]) {
    assert.equal(lineBreaksOf(value), undefined)
  }
})

test('what is no picture, or would not come back the same, is left', async () => {
  const data = long(pngOf(4, 3)).toString('base64')
  const url = `data:image/png;base64,${data}`
  for (const value of [
    { text: url },
    { content: url },
    { data: `eyJ${data}` },
    { [url]: 1 },
    { url: 'data:image/png;base64,iVBORw0KGgo=' },
    { url: `data:image/png;name=a;base64,${data}` },
    { url: `data:text/plain;base64,${data}` },
    JSON.stringify({ arguments: JSON.stringify({ url }) }),
    `{"url":"${url}`,
  ])
    assert.deepEqual((await find(value)).found, [], JSON.stringify(value).slice(0, 60))
  for (const changed of [
    data.replace('+', '-'),
    `${data.slice(0, 800)}=${data.slice(800)}`,
    `${data}\\u002f`,
  ]) {
    const { json, found } = await find(`{"url":"data:image/png;base64,${changed}"}`)
    assert.equal(found.length, 1)
    assert.equal(bytesIn(json, found[0] as (typeof found)[0]), undefined)
  }
})

test('a request has a bounded number of them', async () => {
  const data = long(pngOf(4, 3)).toString('base64')
  const { found } = await find({ images: Array.from({ length: 300 }, () => data) })
  assert.equal(found.length, maxPicturesOfText)
})
