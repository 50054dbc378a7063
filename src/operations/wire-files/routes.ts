import { requireAccess } from '../../domain/callers.ts'
import { bytesAnswer, openAiRefusalContracts, type Routes } from '../../http/contracts.ts'
import { acceptForms, readForm } from '../../http/forms.ts'
import { sendChunks } from '../../http/streams/streamed-answers.ts'
import { databaseOf } from '../../storage/database.ts'
import { piecesOf } from '../../storage/objects/files.ts'
import { family, inScope, type OperationParts } from '../parts.ts'
import { projectHeader, recordingTarget } from '../recording/target-headers.ts'
import { FileAnswer, FileDeleted, FileForm, FileList, FilePath, FilesQuery } from './contract.ts'
import { deleteFile, fileAnswer, listFiles, wireFile } from './files.ts'

type RoutePlugin = Routes<OperationParts>

const tags = ['batches']
const url = '/v1/files/:file_id'
const refusals = openAiRefusalContracts('wire_file_not_found', 'invalid_request', 'entity_forbidden')
/** Files are for answers of models, and belong to the user that made them. */
const config = { right: 'infer' } as const

const create = inScope(async (app, { db, fileLimit }) => {
  await acceptForms(app)
  const schema = {
    summary: 'Store a file for a batch',
    description: 'Compatible with OpenAI: docs/batches.md. The header x-heddle-project names the project.',
    tags,
    response: {
      200: FileAnswer,
      ...openAiRefusalContracts(
        'entity_forbidden',
        'invalid_value',
        'malformed_form',
        'file_too_large',
        'unsupported_media_type',
        'record_refuses_writes',
      ),
    },
  }
  app.post(
    '/v1/files',
    { schema, config: { ...config, form: FileForm }, bodyLimit: fileLimit },
    async (request) => {
      const { caller, headers } = request
      const { project } = recordingTarget(caller, headers)
      requireAccess(caller, project, projectHeader)
      const to = { project, user: caller.name, limit: fileLimit }
      return fileAnswer(
        await (await import('./receive.ts')).receiveWireFile(
          databaseOf(caller.name, db),
          to,
          readForm(request),
        ),
      )
    },
  )
})

const read: RoutePlugin = async (app, { db }) => {
  app.get(
    '/v1/files',
    {
      config,
      schema: {
        summary: 'List files',
        tags,
        querystring: FilesQuery,
        response: { 200: FileList, ...refusals },
      },
    },
    ({ caller, query }) => listFiles(databaseOf(caller.name, db), caller, query),
  )
  app.get(
    url,
    {
      config,
      schema: {
        summary: 'Read what is known of a file',
        tags,
        params: FilePath,
        response: { 200: FileAnswer, ...refusals },
      },
    },
    async ({ caller, params }) =>
      fileAnswer(await wireFile(databaseOf(caller.name, db), caller, params.file_id)),
  )
  app.get(
    `${url}/content`,
    {
      config,
      schema: { summary: 'Read a file', tags, params: FilePath, response: { 200: bytesAnswer, ...refusals } },
    },
    async ({ caller, params }, reply) => {
      const own = databaseOf(caller.name, db)
      const { project_id, upload_id, size } = await wireFile(own, caller, params.file_id)
      reply.header('content-length', size)
      return sendChunks(reply, 'application/octet-stream', piecesOf(own, project_id, upload_id, size))
    },
  )
}

const remove: RoutePlugin = async (app, { db }) => {
  const response = { 200: FileDeleted, ...refusals, ...openAiRefusalContracts('record_refuses_writes') }
  app.delete(
    url,
    { config, schema: { summary: 'Delete a file', tags, params: FilePath, response } },
    ({ caller, params }) => deleteFile(databaseOf(caller.name, db), caller, params.file_id),
  )
}

export const wireFileRoutes = family(create, read, remove)
