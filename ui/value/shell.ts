/** For between single quotes of a shell, which reads nothing into what is there. */
const betweenQuotes = (text: string): string => text.replaceAll("'", `'\\''`)

export const quoted = (text: string): string => `'${betweenQuotes(text)}'`

/** A part of a text of JSON that stands between single quotes. */
export const inQuotedJson = (text: string): string => betweenQuotes(JSON.stringify(text).slice(1, -1))

/** A project in an address that is typed: names may have what a shell, or its history, would read something into. */
export const projectInAddress = (project: string): string =>
  project
    .split('/')
    .map((part) =>
      encodeURIComponent(part).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`),
    )
    .join('/')
