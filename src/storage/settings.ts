/** Null takes a setting away. */
export type Change<Settings> = { [Name in keyof Settings]?: Settings[Name] | null }

/** The text of settings after a change. What a newer version may have set stays. */
export function changed<Settings>(text: string | null | undefined, change: Change<Settings>): string {
  const all = Object.entries({ ...JSON.parse(text ?? '{}'), ...change })
  return JSON.stringify(Object.fromEntries(all.filter(([, value]) => value !== null)))
}

/**
 * Settings as they are stored. Unknown names are left out: a newer version may have set them. The contracts have checked the
 * values when they were set; to ask them again would bring zod into the thread of the writer, which takes 5 MB there.
 */
export function storedSettings<Settings extends object>(
  text: string | null | undefined,
  known: Record<keyof Settings, true>,
): Settings {
  const all = JSON.parse(text ?? '{}') as Record<string, unknown>
  return Object.fromEntries(Object.entries(all).filter(([name]) => Object.hasOwn(known, name))) as Settings
}
