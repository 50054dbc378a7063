import { useState } from 'preact/hooks'
import { ReviewPairs } from '../../adding/review-pairs.tsx'
import { ListTable } from '../../parts/list-table.tsx'
import { Time } from '../../parts/time.tsx'
import { useLoading } from '../../server/loading.ts'
import type { ObjectVersion } from '../../server/objects.ts'
import { conditionText } from './gate.ts'
import { MoveDialog, type MovedLabel } from './move.tsx'
import { type Label, labelsOf, moveLabel, type PromptRun, readLabel } from './reading.ts'
import { readShadowPairs } from './shadow-pairs.ts'

/** A request that names no label gets this one. */
const usualLabel = 'production'

interface Props {
  project: string
  prompt: string
  versions: readonly ObjectVersion[]
  shown: ObjectVersion
  runs: readonly PromptRun[] | undefined
  mayChange: boolean
  onMoved(): void
}

/** Which version each label names, what has to hold before it moves, and what runs beside it. */
export function Labels({ project, prompt, versions, shown, runs = [], mayChange, onMoved }: Props) {
  const [moved, setMoved] = useState<MovedLabel>()
  const [paired, setPaired] = useState<Label>()
  const names = [...new Set([usualLabel, ...versions.flatMap(labelsOf)])]
  const labels = useLoading(
    (signal) => Promise.all(names.map((name) => readLabel(project, prompt, name, signal))),
    [project, prompt, names.join()],
  )
  const versionName = (digest: string) => {
    const index = versions.find((version) => version.digest === digest)?.version_index
    return index === undefined ? digest.slice(0, 8) : `v${index}`
  }
  const reload = () => {
    labels.reload()
    onMoved()
  }
  const fresh = { name: '', digest: null, share: null, gate: null }
  return (
    <>
      <div class="prompt-tools">
        <h2>Labels</h2>
        {mayChange && (
          <button type="button" onClick={() => setMoved(fresh)}>
            New label
          </button>
        )}
      </div>
      <ListTable
        label="Labels"
        loaded={labels}
        keyOf={({ name }) => name}
        columns={{
          Label: ({ name }: Label) => <span class="strong">{name}</span>,
          Version: ({ digest }) =>
            digest === null ? <span class="muted">none yet</span> : versionName(digest),
          Moved: ({ updated_by, updated_at }) =>
            updated_at && (
              <>
                by {updated_by} <Time at={updated_at} />
              </>
            ),
          Gate: ({ gate }) => (
            <span class="quality-text">{gate?.conditions.map(conditionText).join('; ')}</span>
          ),
          Share: ({ share }) =>
            share?.map(({ digest, weight }) => `${versionName(digest)} ${weight}`).join(' : '),
          Shadow: ({ shadow }) => shadow?.shadow && <span class="quality-text">{shadow.verdict}</span>,
        }}
        acts={(label) => {
          const { name: of, former, share } = label
          const last = former.at(-1)
          const back = share ? 'ends the share' : last && `names ${versionName(last)} again`
          return [
            mayChange &&
              label.shadow.pairs > 0 && { name: 'Review as pairs', of, run: () => setPaired(label) },
            mayChange && { name: 'Promote', of, run: () => setMoved(label) },
            mayChange &&
              back !== undefined && {
                ...{ name: 'Roll back', of, ask: `It ${back}, without the gate.` },
                run: async () => {
                  await moveLabel(project, prompt, label, { back: true })
                  onMoved()
                },
              },
          ]
        }}
        empty="No labels"
      />
      {paired && (
        <ReviewPairs
          project={project}
          read={async (signal) => ({
            pairs: await readShadowPairs(project, prompt, { ...paired, ...paired.shadow }, signal),
          })}
          empty="The calls of the shadow were deleted or have expired."
          onClose={() => setPaired(undefined)}
        />
      )}
      {moved && (
        <MoveDialog
          {...{ project, prompt, versions, runs, shown }}
          label={moved}
          onClose={() => {
            setMoved(undefined)
            reload()
          }}
        />
      )}
    </>
  )
}
