import { search } from '../../router.ts'
import { objectRefOf } from '../../value/ref.ts'
import { readDraft } from '../play/draft.ts'
import { type Settings, settingsIn, settingsText } from '../play/settings.ts'
import { allRows, type Split } from './split-choice.tsx'

/** What answers in a run. */
export interface RunSettings {
  name: string
  system: string
  /** Fields of the request, as in the playground. */
  fields: Settings
}

/** What is entered for a run; its settings as texts, which can be kept. */
interface RunDraft {
  dataset: string
  name: string
  /** Undefined means the column that has the question. */
  prompt: string | undefined
  settings: readonly (Omit<RunSettings, 'fields'> & { fields: string })[]
  chosen: readonly string[]
  split: Split
  repeats: string
  concurrency: string
}

export const settingsOf = ({ settings }: RunDraft): RunSettings[] =>
  settings.map((side) => ({ ...side, fields: settingsIn(side.fields) }))

export const textsOf = (settings: readonly RunSettings[]): RunDraft['settings'] =>
  settings.map((side) => ({ ...side, fields: settingsText(side.fields) }))

/** The address may name the dataset, and a judge that was made for this run. */
export function newRunDraft(kept: Partial<RunDraft>): RunDraft {
  const dataset = search.value.get('dataset') ?? kept.dataset ?? ''
  const judge = search.value.get('judge')
  const fresh = { name: '', prompt: undefined, split: allRows, repeats: '1', concurrency: '4', chosen: [] }
  const draft = {
    ...{ ...fresh, settings: textsOf(settingsOfPlayground()), ...kept, dataset },
    ...(kept.dataset !== dataset && { prompt: undefined, split: allRows }),
  }
  return judge === null ? draft : { ...draft, chosen: [...new Set([...draft.chosen, judge])] }
}

/** The settings that were tried last in the playground. */
function settingsOfPlayground(): RunSettings[] {
  const draft = readDraft()
  const a = { name: 'A', system: '', fields: settingsIn(draft?.a) }
  return draft?.isCompared ? [a, { name: 'B', system: '', fields: settingsIn(draft.b) }] : [a]
}

interface RunGiven {
  project: string
  name: string
  dataset: string
  split: Split
  prompt: string
  settings: readonly RunSettings[]
  /** By their names. */
  scorers: readonly string[]
  repeats: number
  concurrency: number
}

/** As JSON, so that numbers of the settings keep their digits. */
export function runBody(run: RunGiven): string {
  const { project, name, dataset, split, prompt, settings, scorers, repeats, concurrency } = run
  const rest = {
    name,
    dataset: objectRefOf(project, dataset, 'latest'),
    ...(split.column !== '' && { split }),
    ...(prompt.trim() !== '' && { prompt }),
    scorers: scorers.map((scorer) => ({ scorer: objectRefOf(project, scorer, 'latest') })),
    ...{ repeats, concurrency },
  }
  const texts = settings.map(({ name: own, system, fields }) => {
    const named = { name: own.trim(), ...(system.trim() !== '' && { system }) }
    return `${JSON.stringify(named).slice(0, -1)},"request":${settingsText(fields) || '{}'}}`
  })
  return `${JSON.stringify(rest).slice(0, -1)},"settings":[${texts.join(',')}]}`
}
