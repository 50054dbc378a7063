import type { RunningServer } from './server.ts'

/** The current engine process of a server, according to its log. */
export function enginePid({ log }: Pick<RunningServer, 'log'>): number {
  const loaded = log
    .map((line) => JSON.parse(line) as { msg?: string; engine?: number })
    .findLast(({ msg }) => msg === 'the model is loaded')
  if (loaded?.engine === undefined) throw new Error('no engine has loaded a model')
  return loaded.engine
}
