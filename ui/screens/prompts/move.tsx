import { useState } from 'preact/hooks'
import { FormDialog } from '../../parts/form-dialog.tsx'
import type { ObjectVersion } from '../../server/objects.ts'
import { RefusedError } from '../../server/request.ts'
import { may } from '../../server/rights.ts'
import { parseRef } from '../../value/ref.ts'
import { conditionText, failedConditions, isCompared } from './gate.ts'
import { type Label, moveLabel, type PromptRun } from './reading.ts'

export type MovedLabel = Pick<Label, 'name' | 'digest' | 'share' | 'gate'>

interface Props {
  project: string
  prompt: string
  /** A label without a name is new. */
  label: MovedLabel
  versions: readonly ObjectVersion[]
  shown: ObjectVersion
  runs: readonly PromptRun[]
  onClose(): void
}

/** Moves a label to a version: freely, through its gate, or for admins in spite of it. */
export function MoveDialog({ project, prompt, label, versions, shown, runs, onClose }: Props) {
  const [failed, setFailed] = useState<readonly string[]>([])
  const { name, digest: present, gate } = label
  const evaluation = parseRef(gate?.evaluation ?? '')?.name
  const runsOf = (digest: string | null) => {
    const own = runs.filter((run) => run.version === digest && run.evaluation === evaluation)
    return {
      '': own.length === 0 ? 'none yet' : 'none',
      ...Object.fromEntries(
        own.map((run) => [run.id, `${run.name}, ${run.at.slice(0, 16).replace('T', ' ')}`]),
      ),
    }
  }
  const usualRun = (digest: string | null) => Object.keys(runsOf(digest)).find((id) => id !== '') ?? ''
  const choices = Object.fromEntries(
    versions.map(({ digest, version_index: index }) => [digest, `v${index}`]),
  )
  return (
    <FormDialog
      title={name === '' ? 'New label' : `Promote to ${name}`}
      fields={({ digest }) => ({
        name: { label: 'Label', example: 'production', isHidden: name !== '' },
        digest: { label: 'Version', choices },
        run: { label: 'Run with this version', choices: runsOf(digest), mayBeEmpty: true, isHidden: !gate },
        baseline: {
          label: 'Run with the present version',
          choices: runsOf(present),
          mayBeEmpty: true,
          isHidden: !gate || present === null || !isCompared(gate),
        },
        reason: {
          label: 'Reason to override the gate, for the audit log',
          mayBeEmpty: true,
          isHidden: !gate || !may('administer', project),
        },
      })}
      first={{
        ...{ name, digest: shown.digest, reason: '' },
        ...{ run: usualRun(shown.digest), baseline: usualRun(present) },
      }}
      submit="Promote"
      onSubmit={async ({ name: named, digest, run, baseline, reason }) => {
        setFailed([])
        const move = {
          digest,
          ...(reason.trim() === ''
            ? { run: run in runsOf(digest) && run ? run : null, baseline_run: baseline || null }
            : { override: { reason: reason.trim() } }),
        }
        try {
          await moveLabel(project, prompt, { ...label, name: named.trim() }, move)
        } catch (error) {
          if (!(error instanceof RefusedError) || error.code !== 'gate_not_passed') throw error
          setFailed(failedConditions(error.message))
          throw new Error('The gate refused it, so the label has not moved.')
        }
      }}
      onClose={onClose}
    >
      {() =>
        gate && (
          <section aria-label="Gate">
            <p>
              The run of {evaluation} must show
              {gate.min_rows !== undefined && `, in at least ${gate.min_rows} rows`}
              {gate.max_age_days !== undefined && `, at most ${gate.max_age_days} days ago`}:
            </p>
            <ul class="prompt-gate">
              {gate.conditions.map((condition) => {
                const text = conditionText(condition)
                const refusal = failed.find((one) => one.startsWith(`${text}, but `))
                return (
                  <li key={text} class={refusal && 'problem'}>
                    {refusal ?? text}
                  </li>
                )
              })}
            </ul>
          </section>
        )
      }
    </FormDialog>
  )
}
