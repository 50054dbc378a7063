import { useState } from 'preact/hooks'
import { Failed, Skeleton } from '../parts/states.tsx'
import { useLoading } from '../server/loading.ts'
import { readSpecs } from '../server/objects.ts'
import { hintOf, shapeOf } from './field.ts'
import { NewSpec } from './new-spec.tsx'

interface Props {
  project: string
  /** Their references, in the order in which reviewers are asked. */
  chosen: readonly string[]
  onChange(refs: readonly string[]): void
}

/** The questions for reviewers: existing annotation specs, and new ones. */
export function SpecsChoice({ project, chosen, onChange }: Props) {
  const { value, error, reload } = useLoading((signal) => readSpecs(project, signal), [project])
  const [isMaking, setMaking] = useState(false)
  return (
    <fieldset class="specs">
      <legend>Questions for reviewers</legend>
      {error && <Failed error={error} retry={reload} />}
      {!error && value === undefined && <Skeleton rows={2} />}
      {value?.length === 0 && !isMaking && (
        <p class="muted">
          No questions yet: reviewers give a thumbs up or down and a note. Add a question to ask for more.
        </p>
      )}
      {value?.map(({ ref, title, description, schema }) => (
        <label key={ref} class="check spec" title={description}>
          <input
            type="checkbox"
            checked={chosen.includes(ref)}
            onChange={({ currentTarget }) =>
              onChange(currentTarget.checked ? [...chosen, ref] : chosen.filter((one) => one !== ref))
            }
          />
          <span>{title}</span>
          <span class="muted clipped">{hintOf(shapeOf(schema).field)}</span>
        </label>
      ))}
      {isMaking ? (
        <NewSpec
          project={project}
          onClose={() => setMaking(false)}
          onMade={(ref) => {
            setMaking(false)
            onChange([...chosen, ref])
            reload()
          }}
        />
      ) : (
        <button type="button" onClick={() => setMaking(true)}>
          Add a question
        </button>
      )}
    </fieldset>
  )
}
