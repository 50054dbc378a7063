import { type Json, jsonAt, type Members, membersIn, textIn, textOf } from './json.ts'
import type { Block } from './message.ts'

const mediaTypes =
  /image|audio|video|document|^(input_)?file|^(uri|blob|media|binary|inline_?data|file_?data)$/i

export const isMediaType = (type: string): boolean => mediaTypes.test(type)

/** Of what is no picture, although it is kept as a file, too. */
const otherTypes = /audio|video|document|file/i

/** What Weave writes in the place of data that it keeps as a file. */
const contentObject = '{"_type":"CustomWeaveType"'
const addresses = ['url', 'uri', 'fileUri', 'file_uri', 'image_url', 'image', 'audio', 'file_data']
const maxWrapped = 4

/** A picture, or a file of any other kind. Undefined where the block names neither an address, data nor a name. */
export function mediaBlock(json: Json): Block | undefined {
  const found = new Map<string, string>()
  collect(membersIn(json), found, 0)
  const stored = found.get('stored') ?? ''
  const file = textIn(jsonAt(stored, 'files', 'content'))
  const type = found.get('type') ?? ''
  if (file !== undefined && !otherTypes.test(type)) return { kind: 'stored', file, json: stored }
  const mime = found.get('mime')
  const source = found.get('address') ?? dataOf(found.get('data'), mime)
  const isImage =
    found.get('modality') === 'image' ||
    mime?.startsWith('image/') ||
    (mime === undefined && found.get('modality') === undefined && /image/.test(type)) ||
    source?.startsWith('data:image/')
  if (isImage && source !== undefined) return { kind: 'image', source }
  const name =
    found.get('name') ?? (source === undefined ? undefined : nameIn(source)) ?? mime ?? (file && type)
  if (name === undefined) return undefined
  return { kind: 'file', name, ...(source !== undefined && { source }) }
}

function collect(members: Members, found: Map<string, string>, depth: number): void {
  const note = (key: string, text: string | undefined) => {
    if (text !== undefined && text !== '' && !found.has(key)) found.set(key, text)
  }
  const type = textOf(members, 'type')
  note('type', type)
  note('modality', textOf(members, 'modality'))
  note('mime', textOf(members, 'mime_type', 'mimeType', 'media_type', 'mediaType', 'contentType'))
  const format = textOf(members, 'format')
  if (format !== undefined) note('mime', format.includes('/') ? format : `audio/${format}`)
  note('name', textOf(members, 'filename', 'title', 'display_name', 'displayName', 'file_id', 'fileId'))
  for (const name of addresses) {
    const text = textIn(members.get(name))
    if (text === undefined) continue
    note(/^(data:|[a-z][a-z0-9+.-]*:\/\/)/i.test(text) ? 'address' : 'data', text)
  }
  for (const name of ['url', 'image_url', 'data']) {
    const json = members.get(name)
    if (json?.startsWith(contentObject)) note('stored', json)
  }
  const data =
    textOf(members, 'data') ?? (type === 'blob' || type === 'binary' ? textOf(members, 'content') : undefined)
  if (data !== undefined) note(data.startsWith('data:') ? 'address' : 'data', data)
  if (depth === maxWrapped) return
  // It may be wrapped twice (OpenInference's `image.image.url`).
  for (const inner of members.values()) {
    if (!inner.startsWith(contentObject)) collect(membersIn(inner), found, depth + 1)
  }
}

/** The kind of picture by the first characters of its base64. */
const starts: readonly [start: string, mime: string][] = [
  ['iVBORw0KGgo', 'image/png'],
  ['/9j/', 'image/jpeg'],
  ['R0lGOD', 'image/gif'],
  ['UklGR', 'image/webp'],
]

export function pictureUrl(base64: string): string | undefined {
  return dataOf(base64, undefined)
}

function dataOf(data: string | undefined, mime: string | undefined): string | undefined {
  if (data === undefined) return undefined
  const type = mime ?? starts.find(([start]) => data.startsWith(start))?.[1]
  return type === undefined ? undefined : `data:${type};base64,${data}`
}

/** The last step of an address, or the type of the data. */
function nameIn(source: string): string | undefined {
  if (source.startsWith('data:')) return /^data:([^;,]{1,100})/.exec(source)?.[1]
  return (
    source
      .replace(/[?#].*$/s, '')
      .split('/')
      .at(-1) || source.slice(0, 200)
  )
}
