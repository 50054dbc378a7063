import { type JsonNode, membersOf, nodeAt, stringOf } from '../../value/json-index.ts'

/** Which rows are asked: those with a text in a column. Without a column, all. */
export interface Split {
  column: string
  value: string
}

export const allRows: Split = { column: '', value: '' }

interface Props {
  /** The first rows. */
  sample: readonly JsonNode[]
  split: Split
  onChange(split: Split): void
}

/** Chooses the rows that a run asks by the text of a column. */
export function SplitChoice({ sample, split, onChange }: Props) {
  const texts = new Map<string, Set<string>>()
  for (const row of sample) {
    for (const { name, node } of membersOf(row)) {
      const text = stringOf(node)
      if (text !== undefined && text.length <= 100) texts.set(name, (texts.get(name) ?? new Set()).add(text))
    }
  }
  return (
    <>
      <label for="run-split">Rows</label>
      <div class="in-line">
        <select
          id="run-split"
          value={split.column}
          onChange={({ currentTarget: { value: column } }) =>
            onChange({ column, value: stringOf(nodeAt(sample[0], column)) ?? '' })
          }
        >
          <option value="">all</option>
          {[...texts.keys()].map((name) => (
            <option key={name} value={name}>
              where {name} is
            </option>
          ))}
        </select>
        {split.column !== '' && (
          <input
            aria-label={`Value of ${split.column}`}
            list="run-split-values"
            value={split.value}
            onInput={({ currentTarget: { value } }) => onChange({ ...split, value })}
          />
        )}
        <datalist id="run-split-values">
          {[...(texts.get(split.column) ?? [])].map((text) => (
            <option key={text} value={text} />
          ))}
        </datalist>
      </div>
    </>
  )
}
