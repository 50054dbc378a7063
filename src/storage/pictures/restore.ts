import { piecesOf, readFileEntry } from '../objects/files.ts'
import type { Reader } from '../transaction.ts'
import { type ContentFiles, contentObjectsIn, writingIn } from './content-object.ts'
import { lineWriter } from './line-breaks.ts'

const maxMetadataBytes = 4_096

/**
 * The JSON text as it was sent, with the pictures that are files of the project. An object whose files are missing
 * stays. Undefined if it would have more characters than this.
 */
export async function withPictures(
  db: Reader,
  project: string,
  json: string,
  maxCharacters: number,
): Promise<string | undefined> {
  const objects = contentObjectsIn(json)
  const known = new Map<string, string>()
  let text = ''
  let copied = 0
  for (const files of objects) {
    const { object, at } = files
    const room = maxCharacters - text.length - (json.length - at)
    const picture = known.get(object) ?? (await pictureOf(db, project, files, room))
    if (picture === undefined || picture.length > room) return undefined
    known.set(object, picture)
    text += json.slice(copied, at) + picture
    copied = at + object.length
  }
  return text + json.slice(copied)
}

/** A JSON string; undefined if it is longer than there is room. */
async function pictureOf(
  db: Reader,
  project: string,
  { object, content, metadata }: ContentFiles,
  room: number,
): Promise<string | undefined> {
  const described = await readFileEntry(db, project, metadata)
  const file = await readFileEntry(db, project, content)
  if (described === undefined || file === undefined || described.size > maxMetadataBytes) return object
  const segments: Uint8Array[] = []
  for await (const bytes of piecesOf(db, project, described.upload_id, described.size)) segments.push(bytes)
  const writing = writingIn(Buffer.concat(segments))
  if (writing === undefined) return object
  if ((file.size / 3) * 4 > room) return undefined
  const written = lineWriter(writing.breaks)
  let text = `"${writing.head}`
  let rest: Uint8Array = Buffer.alloc(0)
  for await (const piece of piecesOf(db, project, file.upload_id, file.size)) {
    const bytes = Buffer.concat([rest, piece])
    const whole = bytes.length - (bytes.length % 3)
    text += written(bytes.toString('base64', 0, whole), false)
    rest = bytes.subarray(whole)
  }
  return `${text}${written(Buffer.from(rest).toString('base64'), true)}"`
}
