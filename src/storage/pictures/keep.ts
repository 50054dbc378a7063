import { createHash } from 'node:crypto'
import { createYieldToLoop, type YieldToLoop } from '../../../packages/waiting/index.ts'
import { digestOf, digestOfHash } from '../../domain/digests.ts'
import { isSharedText, type SharedText, sharedBytes } from '../../domain/json/text.ts'
import type { CallPart } from '../calls/parts.ts'
import type { Commands } from '../commands.ts'
import type { Database } from '../database.ts'
import { readFileEntry } from '../objects/files.ts'
import { openUpload } from '../objects/upload.ts'
import { metadataOf, writeContentObject } from './content-object.ts'
import { bytesOfPicture, type FoundPicture, minPictureCharacters, picturesIn } from './find.ts'

/** A JSON text of a write that may have pictures. */
interface Holder {
  project: string
  of: object
  column: 'inputs' | 'referred'
}

function ofCall({ project_id: project, start }: CallPart): Holder[] {
  return start === undefined ? [] : [{ project, of: start, column: 'inputs' }]
}

type Input<Name extends keyof Commands> = Parameters<Commands[Name]>[1]

/** The requests that this server has answered. What clients write themselves stays as they wrote it. */
const holdersOf: { [Name in keyof Commands]?: (input: Input<Name>) => Holder[] } = {
  recordAnswers: (answers) => answers.flatMap(({ call }) => ofCall(call)),
  keepResponse: (response) => [
    ...ofCall(response.answer.call),
    { project: response.answer.call.project_id, of: response, column: 'referred' },
  ],
  settleShadowPair: ({ calls }) => calls.flatMap(ofCall),
}

/** Where a write may have pictures: most have no text that is long enough. */
export function pictureHolders<Name extends keyof Commands>(name: Name, input: Input<Name>): Holder[] {
  const holders = (holdersOf[name] as ((written: Input<Name>) => Holder[]) | undefined)?.(input)
  return holders?.filter((holder) => textOf(holder).length > minPictureCharacters) ?? []
}

const textOf = ({ of, column }: Holder) => (of as Record<string, string | SharedText>)[column] ?? ''

/**
 * Makes files of the pictures in a write, and puts in their place what names these files. The files are written first:
 * a crash in between leaves a file that no call names, never a call that names no file.
 */
export async function keepPictures(db: Database, holders: readonly Holder[]): Promise<void> {
  for (const holder of holders) {
    const before = textOf(holder)
    const after = await withFiles(db, holder.project, before)
    if (after === before) continue
    const values = holder.of as Record<string, string | number | SharedText>
    values[holder.column] = after
    if (holder.column !== 'inputs') continue
    values.start_bytes = Number(values.start_bytes) + Buffer.byteLength(after) - Buffer.byteLength(before)
  }
}

async function withFiles(
  db: Database,
  project: string,
  text: string | SharedText,
): Promise<string | SharedText> {
  const yieldToLoop = createYieldToLoop()
  const json = isSharedText(text) ? Buffer.from(text.buffer) : Buffer.from(text)
  const segments: Buffer[] = []
  let copied = 0
  for (const picture of await picturesIn(json, yieldToLoop)) {
    const object = await keptPicture(db, project, json, picture, yieldToLoop)
    if (object === undefined) continue
    segments.push(json.subarray(copied, picture.from), Buffer.from(object))
    copied = picture.to
  }
  if (copied === 0) return text
  segments.push(json.subarray(copied))
  return isSharedText(text) ? sharedBytes(segments) : Buffer.concat(segments).toString()
}

/** Undefined if it has to stay where it is. */
async function keptPicture(
  db: Database,
  project: string,
  json: Buffer,
  picture: FoundPicture,
  yieldToLoop: YieldToLoop,
): Promise<string | undefined> {
  const hash = createHash('sha256')
  let size = 0
  for (const bytes of bytesOfPicture(json, picture)) {
    if (bytes === undefined) return undefined
    hash.update(bytes)
    size += bytes.length
    const pause = yieldToLoop()
    if (pause) await pause
  }
  const sha256 = hash.digest()
  const content = digestOfHash(sha256)
  // Most pictures are sent again with each turn.
  await keepFile(db, project, content, () => bytesOfPicture(json, picture))
  const metadata = metadataOf(picture, { sha256, size })
  const described = digestOf(metadata)
  await keepFile(db, project, described, () => [metadata])
  return writeContentObject(content, described)
}

async function keepFile(
  db: Database,
  project: string,
  digest: string,
  pieces: () => Iterable<Buffer | undefined>,
): Promise<void> {
  if ((await readFileEntry(db, project, digest)) !== undefined) return
  const upload = openUpload(db, project, Number.POSITIVE_INFINITY)
  try {
    for (const bytes of pieces()) if (bytes !== undefined) await upload.add(bytes)
    await upload.finish()
  } catch (error) {
    // The sweep removes what this fails to remove.
    await Promise.allSettled([upload.drop()])
    throw error
  }
}
