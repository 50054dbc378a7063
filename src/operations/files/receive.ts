import { type Caller, requireAccess } from '../../domain/callers.ts'
import { projectId as ProjectId } from '../../domain/fields.ts'
import { type Refusal, refuse } from '../../domain/refusals.ts'
import type { FormPart } from '../../http/forms.ts'
import type { Database } from '../../storage/database.ts'
import { pieceBytes } from '../../storage/objects/files.ts'
import { openUpload, type Upload } from '../../storage/objects/upload.ts'

/**
 * Stores the file of a form. The project decides whether the file is read at all; a small file may precede it and waits
 * in memory.
 */
export async function receiveFile(
  db: Database,
  caller: Caller,
  form: AsyncIterable<FormPart>,
  limit: number,
): Promise<{ digest: string }> {
  let project: string | undefined
  let upload: Upload | undefined
  let early: Uint8Array[] | undefined
  try {
    for await (const formPart of form) {
      if ('text' in formPart) {
        if (formPart.name === 'file') throw wrongPart('file', 'expected a file with a name, received text')
        if (formPart.name !== 'project_id') continue
        if (project !== undefined) throw wrongPart('project_id', 'expected once, received twice')
        project = projectOf(formPart.text)
        requireAccess(caller, project)
      } else if (formPart.name === 'file') {
        if (upload !== undefined || early !== undefined)
          throw wrongPart('file', 'expected once, received twice')
        if (project === undefined) {
          early = await gathered(formPart.content)
        } else {
          upload = openUpload(db, project, limit)
          for await (const bytes of formPart.content) await upload.add(bytes)
        }
      }
    }
    if (project === undefined) throw wrongPart('project_id', 'expected text, received nothing')
    if (early !== undefined) {
      upload = openUpload(db, project, limit)
      for (const bytes of early) await upload.add(bytes)
    }
    if (upload === undefined) throw wrongPart('file', 'expected a file, received nothing')
    return { digest: await upload.finish() }
  } catch (error) {
    // The sweep removes what this fails to remove.
    await Promise.allSettled([upload?.drop()])
    throw error
  }
}

async function gathered(content: AsyncIterable<Uint8Array>): Promise<Uint8Array[]> {
  const buffers: Uint8Array[] = []
  let size = 0
  for await (const bytes of content) {
    size += bytes.length
    if (size > pieceBytes) {
      throw wrongPart('project_id', `expected before a file of more than ${pieceBytes} bytes`)
    }
    buffers.push(bytes.slice())
  }
  return buffers
}

function projectOf(text: string): string {
  const result = ProjectId.safeParse(text)
  if (result.success) return result.data
  const [issue] = result.error.issues
  throw wrongPart('project_id', `${issue?.message}, received ${JSON.stringify(text.slice(0, 80))}`)
}

function wrongPart(field: string, msg: string): Refusal {
  return refuse('invalid_request', { origin: 'body', what: `${field}: ${msg}`, field }, [
    { loc: ['body', field], msg, type: 'custom' },
  ])
}
