/** Null removes a setting. */
export type Change<Settings> = { [Name in keyof Settings]?: Settings[Name] | null }

/** The text of settings after a change. Settings of a newer version are preserved. */
export function changed<Settings>(text: string | null | undefined, change: Change<Settings>): string {
  const all = Object.entries({ ...JSON.parse(text ?? '{}'), ...change })
  return JSON.stringify(Object.fromEntries(all.filter(([, value]) => value !== null)))
}

/**
 * Settings as they are stored. Unknown names are left out: a newer version may have set them. The values were validated
 * by the contracts when they were set; validating them again would load zod into the writer thread, where it takes 5
 * MB.
 */
export function storedSettings<Settings extends object>(
  text: string | null | undefined,
  known: Record<keyof Settings, true>,
): Settings {
  const all = JSON.parse(text ?? '{}') as Record<string, unknown>
  return Object.fromEntries(Object.entries(all).filter(([name]) => Object.hasOwn(known, name))) as Settings
}
