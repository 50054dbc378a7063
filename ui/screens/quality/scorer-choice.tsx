import { useState } from 'preact/hooks'
import { isNamed, NameFilter } from '../../parts/name-filter.tsx'
import { paths } from '../../routes.ts'
import type { Scorer } from '../../server/scorers.ts'

interface Props {
  project: string
  scorers: readonly Scorer[]
  /** By their names. */
  chosen: readonly string[]
  /** What a new judge is for: it leads back there. */
  back: Record<string, string>
  onChange(chosen: readonly string[]): void
}

/** As many are read at a glance. */
const maxUnfiltered = 8

/** Judges and checks to tick. What is ticked stays in sight. */
export function ScorerChoice({ project, scorers, chosen, back, onChange }: Props) {
  const [wanted, setWanted] = useState('')
  const shown = scorers.filter(({ name }) => chosen.includes(name) || isNamed(name, wanted))
  const toggle = (name: string) =>
    onChange(chosen.includes(name) ? chosen.filter((other) => other !== name) : [...chosen, name])
  return (
    <fieldset class="quality-scorers">
      <legend>Judges and checks</legend>
      {scorers.length > maxUnfiltered && <NameFilter {...{ wanted }} onChange={setWanted} />}
      <div class="quality-choice">
        {shown.map(({ name, judge, check }) => (
          <label key={name}>
            <input type="checkbox" checked={chosen.includes(name)} onChange={() => toggle(name)} />
            <span dir="auto">{name}</span>
            <span class="muted">{judge ? 'judge' : check?.replaceAll('_', ' ')}</span>
          </label>
        ))}
      </div>
      {scorers.length === 0 && <p class="muted">None yet.</p>}
      <a href={paths.newJudge(project, back)}>New judge</a>
    </fieldset>
  )
}
