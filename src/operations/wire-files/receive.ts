import type { z } from 'zod'
import { wrong } from '../../domain/refusals.ts'
import type { FormPart } from '../../http/forms.ts'
import type { WireFile } from '../../storage/batches/wire-files.ts'
import type { Database } from '../../storage/database.ts'
import { FileForm, usualSeconds } from './contract.ts'
import { openWireFile } from './files.ts'

interface Receiving {
  project: string
  user: string
  limit: number
}

const { file: _, ...texts } = FileForm.shape
const fields: Readonly<Record<string, z.ZodType>> = texts
const maxNameLength = 512
const shown = (text: string) => JSON.stringify(text.slice(0, 80))

/** Stores the file of a form while it arrives. Its purpose may come after it. */
export async function receiveWireFile(
  db: Database,
  to: Receiving,
  form: AsyncIterable<FormPart>,
): Promise<WireFile> {
  const values = new Map<string, string>()
  const upload = openWireFile(db, to)
  let filename: string | undefined
  try {
    for await (const formPart of form) {
      const { name } = formPart
      if ('text' in formPart) {
        if (name === 'file')
          throw wrong('file', 'text', 'a file with a name, such as `curl -F file=@name` sends')
        checkField(name, formPart.text, values)
        values.set(name, formPart.text)
      } else if (name !== 'file' || filename !== undefined) {
        throw wrong(name, 'a file', 'one file, named `file`')
      } else {
        filename = nameOf(formPart.filename)
        for await (const bytes of formPart.content) await upload.add(bytes)
      }
    }
    if (filename === undefined) throw wrong('file', 'nothing', 'a file')
    const purpose = values.get('purpose')
    if (purpose === undefined) throw wrong('purpose', 'nothing', texts.purpose.options.join(', '))
    const named = { filename, purpose, seconds: secondsOf(values, purpose) }
    return await upload.finish(named, (file) => db.write('keepWireFile', file))
  } catch (error) {
    // The sweep removes what this fails to remove.
    await Promise.allSettled([upload.drop()])
    throw error
  }
}

function checkField(name: string, text: string, known: ReadonlyMap<string, string>): void {
  const type = Object.hasOwn(fields, name) ? fields[name] : undefined
  if (type === undefined)
    throw wrong(name.slice(0, 80), shown(text), `no such field; ${Object.keys(FileForm.shape).join(', ')}`)
  if (known.has(name)) throw wrong(name, 'given twice', 'one value')
  const value = name === 'expires_after[seconds]' && /^\d{1,9}$/.test(text) ? Number(text) : text
  const result = type.safeParse(value)
  if (result.success) return
  const accepted =
    name === 'purpose' ? texts.purpose.options.join(', ') : String(result.error.issues[0]?.message)
  throw wrong(name, shown(text), accepted)
}

/** A name that every engine can store, without a path. */
function nameOf(path: string): string {
  const name = path
    .replaceAll('\0', '\ufffd')
    .toWellFormed()
    .replace(/^.*[\\/]/s, '')
  return name.slice(0, maxNameLength).toWellFormed() || 'upload'
}

function secondsOf(values: ReadonlyMap<string, string>, purpose: string): number | null {
  const [anchor, seconds] = [values.get('expires_after[anchor]'), values.get('expires_after[seconds]')]
  if (seconds !== undefined && anchor !== undefined) return Number(seconds)
  if (seconds === undefined && anchor === undefined) return purpose === 'batch' ? usualSeconds : null
  const missing = `expires_after[${seconds === undefined ? 'seconds' : 'anchor'}]`
  throw wrong(missing, 'nothing', '`expires_after` with its anchor and its seconds')
}
