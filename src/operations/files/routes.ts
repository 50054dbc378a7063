import { type Caller, requireAccess } from '../../domain/callers.ts'
import { refuse } from '../../domain/refusals.ts'
import { answers, bytesAnswer } from '../../http/contracts.ts'
import { acceptForms, readForm } from '../../http/forms.ts'
import { sendChunks } from '../../http/streams/streamed-answers.ts'
import { type BoundDatabase, databaseOf } from '../../storage/database.ts'
import { piecesOf, readFileEntry, sizeOfFiles } from '../../storage/objects/files.ts'
import type { Reader } from '../../storage/transaction.ts'
import { family, inScope, operation } from '../parts.ts'
import { ContentBody, StatsAnswer, StatsBody, UploadAnswer, UploadForm } from './contract.ts'
import { receiveFile } from './receive.ts'

const tags = ['files']

/** Its bodies are forms. */
export const uploadRoutes = inScope(async (app, { db, fileLimit }) => {
  await acceptForms(app)
  const schema = {
    summary: 'Store a file',
    tags,
    response: answers(UploadAnswer, 'malformed_form', 'file_too_large'),
  }
  for (const url of ['/file/create', '/files/create']) {
    app.post(
      url,
      { schema, config: { right: 'write_calls', form: UploadForm }, bodyLimit: fileLimit },
      (request) =>
        receiveFile(databaseOf(request.caller.name, db), request.caller, readForm(request), fileLimit),
    )
  }
})

export const fileRoutes = family(
  ...['/file/content', '/files/content'].map((url) =>
    operation('POST', url, {
      right: 'read',
      summary: 'Read a file',
      tags,
      body: ContentBody,
      answer: bytesAnswer,
      refusals: ['file_not_found'],
      rule: async ({ db }, { caller, body }, reply) => {
        const { size, pieces } = await readFile(db, caller, body)
        reply.header('content-length', size)
        return sendChunks(reply, 'application/octet-stream', pieces)
      },
    }),
  ),
  operation('POST', '/files/query_stats', {
    right: 'read',
    summary: 'Read the total size of the files of a project',
    tags,
    body: StatsBody,
    answer: StatsAnswer,
    refusals: ['query_too_slow'],
    rule: ({ db }, { caller, body }) => sumOfFiles(db, caller, body),
  }),
)

interface FileContent {
  size: number
  /** Read one after the other, at the pace of the reader. */
  pieces: AsyncIterable<Uint8Array>
}

async function readFile(
  db: Reader,
  caller: Caller,
  { project_id, digest }: ContentBody,
): Promise<FileContent> {
  requireAccess(caller, project_id)
  const file = await readFileEntry(db, project_id, digest)
  if (file === undefined) {
    throw refuse('file_not_found', { digest, project: project_id })
  }
  return { size: file.size, pieces: piecesOf(db, project_id, file.upload_id, file.size) }
}

export async function sumOfFiles(db: BoundDatabase, caller: Caller, { project_id }: StatsBody) {
  requireAccess(caller, project_id)
  return { total_size_bytes: await sizeOfFiles(db, project_id) }
}
