import { useState } from 'preact/hooks'
import { type FoundPairs, ReviewPairs } from '../../adding/review-pairs.tsx'
import { type Compared, readRows } from '../../server/evaluations.ts'
import { type CallPair, callsAtOnce } from '../../server/queues.ts'
import { countText } from '../../value/units.ts'

interface Props {
  /** The baseline is the first of its runs. */
  compared: Compared
  side: string
  letters: ReadonlyMap<string, string>
}

/** Puts the answers of two runs to the same rows into a queue whose reviewers say which are better. */
export function NewPairs({ compared, side, letters }: Props) {
  const [isOpen, setOpen] = useState(false)
  const ids = [compared.ids[0] ?? '', side]
  return (
    <>
      <button
        type="button"
        title={`People say which answer is better: ${ids.map((id) => letters.get(id)).join(' or ')}`}
        onClick={() => setOpen(true)}
      >
        Review as pairs
      </button>
      {isOpen && (
        <ReviewPairs
          project={compared.project}
          read={(signal) => readPairs({ ...compared, ids, intersect: true }, signal)}
          empty="No row has an answer of both runs."
          onClose={() => setOpen(false)}
        />
      )}
    </>
  )
}

const rowsAtOnce = 200
/** Where hardly any row has two answers, more would take minutes. */
const maxRows = 10_000

/** Of each row the first trial of both runs, from the first rows of them. */
async function readPairs(compared: Compared, signal: AbortSignal): Promise<FoundPairs> {
  const pairs: CallPair[] = []
  for (let offset = 0; ; offset += rowsAtOnce) {
    const { rows, total } = await readRows(compared, undefined, { offset, limit: rowsAtOnce }, signal)
    for (const { trials } of rows) {
      const [first, other] = compared.ids.map((id) => trials.get(id)?.[0]?.predictCall)
      if (first !== undefined && other !== undefined) pairs.push([first, other])
    }
    const read = offset + rows.length
    const isOver = rows.length < rowsAtOnce || read >= total
    if (isOver || read >= maxRows || pairs.length >= callsAtOnce) {
      const isCut = pairs.length > callsAtOnce
      const of = isCut
        ? `The first ${countText(callsAtOnce)} pairs, of more.`
        : `Of the first ${countText(read)} of ${countText(total)} rows.`
      return { pairs: pairs.slice(0, callsAtOnce), ...((isCut || !isOver) && { of }) }
    }
  }
}
