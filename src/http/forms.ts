import type { Readable } from 'node:stream'
import type { MultipartFile, MultipartValue } from '@fastify/multipart'
import multipart from '@fastify/multipart'
import type { FastifyRequest } from 'fastify'
import { yieldBetweenPieces } from '../../packages/waiting/index.ts'
import { Refusal, refuse } from '../domain/refusals.ts'
import { freeChunk } from './chunks.ts'
import type { App } from './contracts.ts'
import { unsupported } from './errors.ts'

/** In the order in which the parts arrive. Content that is not read is skipped. */
export type FormPart =
  | { name: string; text: string }
  | { name: string; filename: string; content: AsyncIterable<Uint8Array> }

/** The code that reads a file bounds its size. */
const limits = {
  fileSize: Number.POSITIVE_INFINITY,
  fieldNameSize: 256,
  fieldSize: 16 * 1024,
  fields: 20,
  files: 4,
  parts: 24,
  headerPairs: 32,
}

/** The routes of this app accept forms and no JSON. */
export async function acceptForms(app: App): Promise<void> {
  app.removeAllContentTypeParsers()
  await app.register(multipart, { limits, throwFileSizeLimit: false })
}

/** The parts of a form as they arrive. The unread rest of a file is skipped. */
export async function* readForm(request: FastifyRequest): AsyncGenerator<FormPart> {
  if (!request.isMultipart()) throw unsupported(request)
  const entries = request.parts()[Symbol.asyncIterator]()
  for (;;) {
    const next = await refuseFormErrors(entries.next())
    if (next.done) return
    const entry = next.value as MultipartFile | MultipartValue
    if (entry.type === 'field') {
      yield { name: entry.fieldname, text: String(entry.value) }
    } else {
      const { fieldname: name, filename } = entry
      yield { name, filename, content: contentOf(request.raw, entry.file) }
      entry.file.resume()
    }
  }
}

/**
 * Each chunk is valid until the next one is requested. Per turn of the event loop only one chunk of all concurrent
 * uploads is read, so that other requests wait for one chunk at most.
 */
async function* contentOf(from: Readable, file: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const bytes = file[Symbol.asyncIterator]()
  try {
    for (;;) {
      const next = await refuseFormErrors(bytes.next())
      if (next.done) return
      await yieldBetweenPieces()
      yield next.value
      freeChunk(from, next.value)
    }
  } finally {
    await bytes.return?.()
  }
}

/** Any failure while a form is read is a fault of the form, or its sender has left. */
async function refuseFormErrors<T>(reading: Promise<T>): Promise<T> {
  try {
    return await reading
  } catch (error) {
    if (error instanceof Refusal) throw error
    throw refuse('malformed_form', { why: error instanceof Error ? error.message : String(error) })
  }
}
