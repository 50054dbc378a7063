import { flushCompileCache } from 'node:module'
import type { z } from 'zod'
import { traits } from '../domain/fields.ts'
import { Refusal, type RefusalCode, type RefusalValues, type SchemaIssue } from '../domain/refusals.ts'
import { type Handover, pack, transferable } from '../threads/handover.ts'
import { ownPort } from '../threads/thread.ts'
import { readBody } from './read-body.ts'
import { fitted } from './validation.ts'

/** A body as it arrived, and the name of the contract that it has to fit. */
export interface BodyQuestion {
  segments: SharedArrayBuffer[]
  length: number
  contract: string
}

export type BodyAnswer =
  | { kind: 'fits'; body: Handover }
  | { kind: 'refused'; code: RefusalCode; values: RefusalValues; detail: readonly SchemaIssue[] | undefined }

/** What the thread does: it reads one body at a time, and checks it against its contract. */
export function serveBodies(contractOf: (name: string) => Promise<z.ZodType>): void {
  flushCompileCache()
  const port = ownPort()
  port.on('message', async ({ segments, length, contract }: BodyQuestion) => {
    const pieces = segments.map((one) => new Uint8Array(one))
    const bytes = Buffer.concat(pieces, length)
    const answer = answerTo(bytes, await contractOf(contract))
    port.postMessage(answer, answer.kind === 'fits' ? transferable(answer.body) : [])
  })
  port.postMessage('ready')
}

function answerTo(bytes: Buffer, contract: z.ZodType): BodyAnswer {
  try {
    const given = traits.get(contract)?.isBytes ? bytes : readBody(bytes, contract)
    return { kind: 'fits', body: pack(fitted(contract, given, 'body')) }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const { code, values, detail } = error
    return { kind: 'refused', code, values, detail }
  }
}
