import { extname } from 'node:path'
import { z } from 'zod'
import { serveBodies } from './http/body-thread.ts'

/** Where `startThread` finds this file, before and after the build. */
export const bodyThread = import.meta.url

/** The contract of that name, such as `operations/queues/contract#CreateBody`: its module and its name there. */
export async function contractOf(name: string): Promise<z.ZodType> {
  const [file, member = ''] = name.split('#')
  const module = await import(new URL(`./${file}${extname(import.meta.url)}`, import.meta.url).href)
  const contract: unknown = module[member]
  if (contract instanceof z.ZodType) return contract
  throw new Error(`no contract ${name}`)
}

/** What a thread runs that reads large bodies. It loads only the contracts that it is asked for. */
export function serve(): void {
  serveBodies(contractOf)
}
