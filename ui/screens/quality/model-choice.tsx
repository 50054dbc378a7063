import { readEngine } from '../../server/engine.ts'
import { useLoading } from '../../server/loading.ts'

interface Props {
  id: string
  value: string
  onChange(model: string): void
}

/** A model that writes answers; the first if none is chosen. */
export function ModelChoice({ id, value, onChange }: Props) {
  const { value: engine } = useLoading(readEngine, [])
  const names =
    engine?.models.flatMap(({ names: own, tasks }) => (tasks.includes('answers') ? own : [])) ?? []
  return (
    <>
      <label for={id}>Model</label>
      <select id={id} value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
        <option value="">first model</option>
        {names.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </>
  )
}
