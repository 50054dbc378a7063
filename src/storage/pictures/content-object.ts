import type { FoundPicture } from './find.ts'
import { type LineBreaks, lineBreaksOf } from './line-breaks.ts'

/**
 * What stands in a call for a picture or a sound that is kept as a file: the object that Weave's clients read as `Content`. Its
 * second file says what the picture was written as.
 */
const beginning =
  '{"_type":"CustomWeaveType","weave_type":{"type":"weave.type_wrappers.Content.content.Content"},"files":'

/** A string has its quotes escaped, so this is found in no text. */
const contentObject = new RegExp(
  String.raw`${beginning.replace(/[{.]/g, String.raw`\$&`)}\{"content":"(\w{43})","metadata\.json":"(\w{43})"\}\}`,
  'g',
)

export const writeContentObject = (content: string, metadata: string): string =>
  `${beginning}${JSON.stringify({ content, 'metadata.json': metadata })}}`

export interface ContentFiles {
  object: string
  at: number
  content: string
  metadata: string
}

export function contentObjectsIn(json: string): ContentFiles[] {
  if (!json.includes(beginning)) return []
  return [...json.matchAll(contentObject)].map(({ 0: object, 1: content = '', 2: metadata = '', index }) => ({
    ...{ object, at: index, content, metadata },
  }))
}

type PictureKind = Pick<FoundPicture, 'type' | 'isUrl' | 'breaks'>

const extensions: Readonly<Record<string, string>> = {
  'image/jpeg': 'jpg',
  'audio/mpeg': 'mp3',
  'audio/x-wav': 'wav',
}

/** The same for the same picture, so that this file is stored once, too. */
export function metadataOf(
  { type, isUrl, breaks }: PictureKind,
  { sha256, size }: { sha256: Buffer; size: number },
): Buffer {
  const digest = sha256.toString('hex')
  const [sort = '', subtype = ''] = type.split('/')
  const extension = `.${extensions[type] ?? subtype}`
  return Buffer.from(
    JSON.stringify({
      size,
      mimetype: type,
      digest,
      filename: `${sort}-${digest.slice(0, 10)}${extension}`,
      content_type: isUrl ? 'data_url:base64' : 'base64',
      input_type: 'str',
      encoding: 'base64',
      metadata: breaks === undefined ? null : { line_breaks: breaks },
      extension,
    }),
  )
}

/** How the base64 was written. Undefined if the file is no such metadata. */
export function writingIn(metadata: Buffer): { head: string; breaks: LineBreaks | undefined } | undefined {
  try {
    const {
      mimetype,
      content_type,
      metadata: own,
    } = JSON.parse(metadata.toString()) as Record<string, unknown>
    const breaks = lineBreaksOf((own as { line_breaks?: unknown } | null | undefined)?.line_breaks)
    if (content_type === 'base64') return { head: '', breaks }
    const isUrl = content_type === 'data_url:base64' && typeof mimetype === 'string'
    const isType = isUrl && /^[\w.+-]+\/[\w.+-]+$/.test(mimetype)
    return isType ? { head: `data:${mimetype};base64,`, breaks } : undefined
  } catch {
    return undefined
  }
}
