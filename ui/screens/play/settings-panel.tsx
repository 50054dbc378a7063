import { useRef, useState } from 'preact/hooks'
import { useShortcuts } from '../../parts/shortcuts.ts'
import { search, setSearch } from '../../router.ts'
import { labelOf } from './field.ts'
import { FieldRow } from './field-row.tsx'
import { type FieldGroup, fieldGroups } from './groups.ts'
import type { Play, Side } from './play.ts'
import { invalidField } from './run.ts'
import { linkOf } from './settings.ts'

interface Props {
  play: Play
  models: readonly string[]
}

/** Every field of the request, for A or for B. Fields at their default are not sent. */
export function SettingsPanel({ play, models }: Props) {
  const [chosen, setChosen] = useState<'a' | 'b'>('a')
  const [wanted, setWanted] = useState('')
  const finder = useRef<HTMLInputElement>(null)
  const shown = play.shown.value
  const side = shown.find(({ name }) => name === chosen) ?? play.a
  useShortcuts('Settings', [{ keys: ['/'], does: 'Find a setting', run: () => finder.current?.focus() }])
  return (
    <section class="play-settings" aria-label="Settings">
      {shown.length > 1 && (
        <div class="tabs" role="tablist" aria-label="Settings of">
          {shown.map(({ name }) => (
            <button
              key={name}
              type="button"
              role="tab"
              id={`settings-${name}`}
              aria-controls="settings-fields"
              aria-selected={name === side.name}
              onClick={() => setChosen(name)}
            >
              {name.toUpperCase()}
            </button>
          ))}
        </div>
      )}
      <div
        class="play-fields"
        id="settings-fields"
        {...(shown.length > 1 && { role: 'tabpanel', 'aria-labelledby': `settings-${side.name}` })}
      >
        <Changed play={play} side={side} />
        <input
          ref={finder}
          type="search"
          aria-label="Find a setting"
          placeholder="Find a setting"
          value={wanted}
          onInput={({ currentTarget }) => setWanted(currentTarget.value)}
        />
        <Groups key={side.name} {...{ play, side, models }} wanted={wanted.trim().toLowerCase()} />
        <div class="field">
          <div class="field-head">
            <label for="thread">Thread</label>
          </div>
          <input
            id="thread"
            maxLength={512}
            value={search.value.get('thread') ?? ''}
            onChange={({ currentTarget }) => setSearch({ thread: currentTarget.value })}
          />
          <p class="field-says">The thread that the calls belong to, sent in x-heddle-thread.</p>
        </div>
      </div>
    </section>
  )
}

/** The settings that differ from the default. */
function Changed({ play, side }: { play: Play; side: Side }) {
  const settings = side.settings.value
  const { leftOut } = linkOf(settings)
  if (settings.size === 0) return <p class="muted">All settings are at their defaults.</p>
  return (
    <>
      <ul class="chips" aria-label="Changed settings">
        {[...settings].map(([name, value]) => (
          <li key={name}>
            <span title={name}>{labelOf(name)}</span>{' '}
            <span>{value.length > 40 ? `${value.slice(0, 40)}…` : value}</span>
            <button
              type="button"
              class="quiet"
              aria-label={`Remove ${labelOf(name)}`}
              onClick={() => play.set(side, name, undefined)}
            >
              ×
            </button>
          </li>
        ))}
      </ul>
      {leftOut.length > 0 && (
        <p class="muted">Too long for a link, kept in this tab only: {leftOut.join(', ')}.</p>
      )}
    </>
  )
}

function Groups({ play, side, models, wanted }: Props & { side: Side; wanted: string }) {
  return fieldGroups.map((group) => <Group key={group.name} {...{ play, side, models, wanted, group }} />)
}

interface GroupProps extends Props {
  side: Side
  wanted: string
  group: FieldGroup
}

function Group({ play, side, models, wanted, group: { name, fields, isRare } }: GroupProps) {
  const settings = side.settings.value
  const error = side.run.value?.error
  const wrong = invalidField(error)?.field
  const fitting = fields.filter(
    (field) =>
      `${field.name} ${labelOf(field.name)} ${field.says}`.toLowerCase().includes(wanted) ||
      field.name === wrong,
  )
  // The group stays open when a setting in it is removed.
  const wasTold = useRef(false)
  wasTold.current ||= fitting.some((field) => settings.has(field.name) || field.name === wrong)
  if (fitting.length === 0) return null
  return (
    <details open={!isRare || wanted !== '' || wasTold.current}>
      <summary>
        <h2>{name}</h2>
      </summary>
      {fitting.map((field) => (
        <FieldRow
          key={field.name}
          {...{ field, models }}
          side={side.name}
          value={settings.get(field.name)}
          wrong={field.name === wrong ? error?.message : undefined}
          onChange={(json) => play.set(side, field.name, json)}
        />
      ))}
    </details>
  )
}
