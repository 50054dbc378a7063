import { z } from 'zod'
import { answers } from '../../http/contracts.ts'
import { disconnectSignal } from '../../http/disconnect.ts'
import { acceptForms, readForm } from '../../http/forms.ts'
import { sendChunks } from '../../http/streamed-answers.ts'
import { family, type Operation } from '../parts.ts'
import { readFile, sumOfFiles } from './content.ts'
import { ContentBody, StatsAnswer, StatsBody, UploadAnswer, UploadForm } from './contract.ts'
import { receiveFile } from './receive.ts'

const tags = ['files']
const bytes = {
  description: 'The bytes',
  content: { 'application/octet-stream': { schema: z.string().meta({ format: 'binary' }) } },
}

const create: Operation = async (app, { db, fileLimit }) => {
  await acceptForms(app)
  const schema = {
    summary: 'Store a file',
    tags,
    response: answers(UploadAnswer, 'malformed_form', 'file_too_large'),
  }
  for (const url of ['/file/create', '/files/create']) {
    app.post(url, { schema, config: { form: UploadForm }, bodyLimit: fileLimit }, (request) =>
      receiveFile(db, request.caller, readForm(request), fileLimit),
    )
  }
}

const content: Operation = async (app, { db }) => {
  const schema = {
    summary: 'Read a file',
    tags,
    body: ContentBody,
    response: answers(bytes, 'file_not_found'),
  }
  for (const url of ['/file/content', '/files/content']) {
    app.post(url, { schema }, async (request, reply) => {
      const { size, pieces } = await readFile(db, request.caller, request.body)
      reply.header('content-length', size)
      return sendChunks(reply, 'application/octet-stream', pieces)
    })
  }
}

const stats: Operation = async (app, { db }) => {
  const schema = {
    summary: 'How much the files of a project take',
    tags,
    body: StatsBody,
    response: answers(StatsAnswer, 'query_too_slow'),
  }
  app.post('/files/query_stats', { schema }, (request, reply) =>
    sumOfFiles(db, request.caller, request.body, disconnectSignal(reply)),
  )
}

export const fileRoutes = family(create, content, stats)
