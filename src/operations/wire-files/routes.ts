import { requireAccess } from '../../domain/callers.ts'
import { bytesAnswer, openAiRefusalContracts, type Routes, wireRoutes } from '../../http/contracts.ts'
import { acceptForms, readForm } from '../../http/forms.ts'
import { sendChunks } from '../../http/streams/streamed-answers.ts'
import { databaseOf } from '../../storage/database.ts'
import { piecesOf } from '../../storage/objects/files.ts'
import { family, inScope, type OperationParts } from '../parts.ts'
import { projectHeader, recordingTarget } from '../recording/target-headers.ts'
import { FileAnswer, FileDeleted, FileForm, FileList, FilePath, FilesQuery } from './contract.ts'
import { deleteFile, fileAnswer, listFiles, wireFile } from './files.ts'

type RoutePlugin = Routes<OperationParts>

const route = wireRoutes('batches', openAiRefusalContracts)
const url = '/v1/files/:file_id'
const params = FilePath
const refused = ['wire_file_not_found', 'invalid_request', 'entity_forbidden'] as const
/** Files are for answers of models, and belong to the user that made them. */
const right = 'infer'

const create = inScope(async (app, { db, fileLimit }) => {
  await acceptForms(app)
  const description =
    'Compatible with OpenAI: docs/batches.md. The header x-heddle-project names the project.'
  const { config, schema } = route(
    right,
    'Store a file for a batch',
    FileAnswer,
    { description },
    'entity_forbidden',
    'invalid_value',
    'malformed_form',
    'file_too_large',
    'unsupported_media_type',
    'record_refuses_writes',
  )
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
  const list = route(right, 'List files', FileList, { querystring: FilesQuery }, ...refused)
  app.get('/v1/files', list, ({ caller, query }) => listFiles(databaseOf(caller.name, db), caller, query))
  const about = route(right, 'Read what is known of a file', FileAnswer, { params }, ...refused)
  app.get(url, about, async ({ caller, params }) =>
    fileAnswer(await wireFile(databaseOf(caller.name, db), caller, params.file_id)),
  )
  const content = route(right, 'Read a file', bytesAnswer, { params }, ...refused)
  app.get(`${url}/content`, content, async ({ caller, params }, reply) => {
    const own = databaseOf(caller.name, db)
    const { project_id, upload_id, size } = await wireFile(own, caller, params.file_id)
    reply.header('content-length', size)
    return sendChunks(reply, 'application/octet-stream', piecesOf(own, project_id, upload_id, size))
  })
}

const remove: RoutePlugin = async (app, { db }) => {
  const codes = [...refused, 'record_refuses_writes'] as const
  const about = route(right, 'Delete a file', FileDeleted, { params }, ...codes)
  app.delete(url, about, ({ caller, params }) =>
    deleteFile(databaseOf(caller.name, db), caller, params.file_id),
  )
}

export const wireFileRoutes = family(create, read, remove)
