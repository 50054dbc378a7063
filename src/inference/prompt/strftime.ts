const months = 'January February March April May June July August September October November December'.split(
  ' ',
)
const days = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ')

const two = (number: number) => String(number).padStart(2, '0')

const directives: Record<string, (date: Date) => string> = {
  Y: (date) => String(date.getFullYear()),
  y: (date) => two(date.getFullYear() % 100),
  m: (date) => two(date.getMonth() + 1),
  d: (date) => two(date.getDate()),
  B: (date) => months[date.getMonth()] as string,
  b: (date) => (months[date.getMonth()] as string).slice(0, 3),
  A: (date) => days[date.getDay()] as string,
  a: (date) => (days[date.getDay()] as string).slice(0, 3),
  H: (date) => two(date.getHours()),
  I: (date) => two(date.getHours() % 12 || 12),
  M: (date) => two(date.getMinutes()),
  S: (date) => two(date.getSeconds()),
  p: (date) => (date.getHours() < 12 ? 'AM' : 'PM'),
  '%': () => '%',
}

/** The date in the form that Python's function of this name gives it; templates ask for nothing but these directives. */
export function strftime(date: Date, format: string): string {
  return format.replace(/%(.)/g, (whole, name: string) => directives[name]?.(date) ?? whole)
}
