import { type Operation, operation } from '../parts.ts'
import { EngineAnswer } from './contract.ts'
import { createEngineView } from './engine.ts'

export const engineRoutes: Operation = async (app, services) => {
  const view = createEngineView(services)
  const read = operation('GET', '/views/engine', {
    summary: 'Read the current state of the models',
    tags: ['models'],
    answer: EngineAnswer,
    rule: (_, { caller }) => view(caller),
  })
  await app.register(read, services)
}
