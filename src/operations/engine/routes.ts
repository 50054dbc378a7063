import { type Operation, operation } from '../parts.ts'
import { EngineAnswer, LoadAnswer } from './contract.ts'
import { createEngineView } from './engine.ts'

export const engineRoutes: Operation = async (app, services) => {
  const view = createEngineView(services)
  const read = operation('GET', '/views/engine', {
    right: 'own',
    summary: 'Read the current state of the models',
    tags: ['models'],
    answer: EngineAnswer,
    rule: (_, { caller }) => view(caller),
  })
  const load = operation('GET', '/load', {
    right: 'own',
    summary: 'Count the answers that are running',
    tags: ['models'],
    answer: LoadAnswer,
    rule: ({ running }) => ({ server_load: running.all().length }),
  })
  await read(app, services)
  await load(app, services)
}
