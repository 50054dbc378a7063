import { flushCompileCache } from 'node:module'
import type { z } from 'zod'
import { Refusal, type RefusalCode, type RefusalValues, type SchemaIssue } from '../domain/refusals.ts'
import { type Handover, pack, transferable } from '../threads/handover.ts'
import { ownPort } from '../threads/thread.ts'
import { readBody } from './read-body.ts'
import { fitted } from './validation.ts'

/** A body as it arrived, and the name of the contract that it has to fit. */
export interface BodyQuestion {
  segments: SharedArrayBuffer[]
  length: number
  /** Without a contract it is only checked to be JSON. */
  contract: string | undefined
}

export type BodyAnswer =
  | { kind: 'fits'; body: Handover }
  | { kind: 'refused'; code: RefusalCode; values: RefusalValues; detail: readonly SchemaIssue[] | undefined }

/** What the thread does: it reads one body at a time, and checks it against its contract. */
export function serveBodies(contracts: ReadonlyMap<string, z.ZodType>): void {
  flushCompileCache()
  const port = ownPort()
  port.on('message', ({ segments, length, contract }: BodyQuestion) => {
    const pieces = segments.map((one) => new Uint8Array(one))
    const bytes = Buffer.concat(pieces, length)
    const answer = answerTo(bytes, contract === undefined ? undefined : contracts.get(contract))
    port.postMessage(answer, answer.kind === 'fits' ? transferable(answer.body) : [])
  })
  port.postMessage('ready')
}

function answerTo(bytes: Buffer, contract: z.ZodType | undefined): BodyAnswer {
  try {
    const value = readBody(bytes, contract)
    return { kind: 'fits', body: pack(contract ? fitted(contract, value, 'body') : value) }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const { code, values, detail } = error
    return { kind: 'refused', code, values, detail }
  }
}
