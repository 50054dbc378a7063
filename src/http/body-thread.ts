import { flushCompileCache } from 'node:module'
import type { z } from 'zod'
import { keptJson } from '../../packages/json/index.ts'
import { traits } from '../domain/fields.ts'
import { type SharedText, sharedText } from '../domain/json/text.ts'
import { Refusal, type RefusalCode, type RefusalValues, type SchemaIssue } from '../domain/refusals.ts'
import { type Handover, pack, transferable } from '../threads/handover.ts'
import { lowerThreadPriority } from '../threads/priority.ts'
import { portToParent } from '../threads/thread.ts'
import { type UnknownField, unknownFields } from './answer-headers/ignored-fields.ts'
import { type BodyExclusions, readBody } from './read-body.ts'
import { parseOrRefuse } from './validation.ts'

/** A body as it arrived, and the name of its contract. */
export interface BodyQuestion {
  segments: SharedArrayBuffer[]
  length: number
  contract: string
  /** Return its JSON as well as the result of the contract. */
  keeps?: BodyExclusions
}

export type BodyAnswer =
  | { kind: 'fits'; body: Handover; shared?: SharedText; unknown: UnknownField[] }
  | {
      kind: 'refused'
      code: RefusalCode
      values: RefusalValues
      detail: readonly SchemaIssue[] | undefined
      unknown: UnknownField[]
    }

/** What the thread runs: it reads one body at a time and checks it against its contract. */
export function serveBodies(contractOf: (name: string) => Promise<z.ZodType>): void {
  lowerThreadPriority()
  flushCompileCache()
  const port = portToParent()
  port.on('message', async ({ segments, length, contract, keeps }: BodyQuestion) => {
    const pieces = segments.map((segment) => new Uint8Array(segment))
    const bytes = Buffer.concat(pieces, length)
    const answer = answerTo(bytes, await contractOf(contract), keeps)
    port.postMessage(answer, answer.kind === 'fits' ? transferable(answer.body) : [])
  })
  port.postMessage('ready')
}

function answerTo(bytes: Buffer, contract: z.ZodType, keeps: BodyQuestion['keeps']): BodyAnswer {
  let unknown: UnknownField[] = []
  try {
    const isBytes = traits.get(contract)?.isBytes
    const data = isBytes ? bytes : readBody(bytes, contract)
    if (!isBytes) unknown = unknownFields(contract, data)
    const body = pack(parseOrRefuse(contract, data, 'body'))
    if (keeps === undefined) return { kind: 'fits', body, unknown }
    return { kind: 'fits', body, unknown, shared: sharedText(keptJson(bytes.toString(), keeps.without)) }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const { code, values, detail } = error
    return { kind: 'refused', code, values, detail, unknown }
  }
}
