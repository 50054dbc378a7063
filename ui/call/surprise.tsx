import { live } from '../export/contents.ts'
import { navigate } from '../router.ts'
import { paths } from '../routes.ts'
import { forkAt, type Token } from '../screens/play/answer.ts'
import { passToPlayground } from '../screens/play/handover.ts'
import { withOpen } from '../screens/play/play.ts'
import { Surprise } from '../screens/play/surprise.tsx'
import { requestIn } from '../screens/play/turns.ts'
import { type JsonNode, sourceOf } from '../value/json-index.ts'

interface Props {
  project: string
  inputs: JsonNode | undefined
  choices: readonly JsonNode[]
}

/** A recorded answer, coloured by log-probability. Choosing another token makes the model continue from there. */
export function RecordedSurprise({ project, inputs, choices }: Props) {
  const asked = requestIn(inputs)
  return choices.map((choice, index) => {
    const tokens = JSON.parse(sourceOf(choice)) as Token[]
    const fork = (at: number, rank: number) => {
      const instead = tokens[at]?.top_logprobs[rank]
      const text = instead && forkAt(tokens, at, instead)
      if (asked === undefined || text === undefined) return
      const last = asked.turns.at(-1)
      const before = last?.isOpen ? last.text : ''
      passToPlayground({
        turns: withOpen(asked.turns, before + text),
        settings: asked.settings,
        isAsked: true,
      })
      navigate(paths.play({ p: project }))
    }
    return (
      <section key={index}>
        {choices.length > 1 && <h3>Choice {index + 1}</h3>}
        <Surprise tokens={tokens} onFork={asked && live(fork)} />
      </section>
    )
  })
}
