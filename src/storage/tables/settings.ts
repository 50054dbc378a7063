/** Null takes a setting away. */
export type Change<Settings> = { [Name in keyof Settings]?: Settings[Name] | null }

/** The text of settings after a change. What a newer version may have set stays. */
export function changed<Settings>(text: string | null | undefined, change: Change<Settings>): string {
  const all = Object.entries({ ...JSON.parse(text ?? '{}'), ...change })
  return JSON.stringify(Object.fromEntries(all.filter(([, value]) => value !== null)))
}
