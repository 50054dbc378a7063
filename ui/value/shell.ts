/** Escapes text for single quotes of a shell, inside which nothing is expanded. */
const betweenQuotes = (text: string): string => text.replaceAll("'", `'\\''`)

export const quoted = (text: string): string => `'${betweenQuotes(text)}'`

/** Text as part of a JSON string inside single quotes. */
export const inQuotedJson = (text: string): string => betweenQuotes(JSON.stringify(text).slice(1, -1))

/** A project in a URL of a command; names may contain characters that a shell or its history would expand. */
export const projectInAddress = (project: string): string =>
  project
    .split('/')
    .map((part) =>
      encodeURIComponent(part).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`),
    )
    .join('/')
