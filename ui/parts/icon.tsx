/** Line icons on a grid of 16 by 16. */
const shapes = {
  search: 'M7 12a5 5 0 1 0 0-10 5 5 0 0 0 0 10Zm3.6-1.4L14 14',
  close: 'm4 4 8 8m0-8-8 8',
  copy: 'M5.5 5.5v-3h8v8h-3m-8-5h8v8h-8z',
  chevron: 'm6 4 4 4-4 4',
  back: 'm10 4-4 4 4 4',
  keyboard: 'M1.5 4h13v8.5h-13zM4 7h.5m2.5 0h.5m2.5 0h.5m-6.5 3h7',
  sun: 'M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6Zm0-9.5v1m0 11v1m-6.5-6.5h1m11 0h1M3.4 3.4l.7.7m7.8 7.8.7.7m0-9.2-.7.7m-7.8 7.8-.7.7',
  moon: 'M13 9.8A5.7 5.7 0 0 1 6.2 3 5.7 5.7 0 1 0 13 9.8Z',
  screen: 'M1.5 3h13v8.5h-13zM6 14h4m-2-2.5V14',
  up: 'M4.5 7.5 7.5 2c1.2 0 1.8.8 1.5 2l-.5 2.5h4c.8 0 1.3.7 1.1 1.5l-1 4.5c-.2.7-.6 1-1.2 1H4.5m0-6v6h-3v-6z',
  down: 'M11.5 8.5 8.5 14c-1.2 0-1.8-.8-1.5-2l.5-2.5h-4c-.8 0-1.3-.7-1.1-1.5l1-4.5c.2-.7.6-1 1.2-1h6.9m0 6v-6h3v6z',
  refresh: 'M13.5 8a5.5 5.5 0 1 1-1.6-3.9L13.5 5.5m0-3.5v3.5H10',
  out: 'M9.5 11v2.5h-7v-11h7V5m-3 3h8m-2.5-2.5L14.5 8 12 10.5',
  export: 'M8 10V2m-3 3 3-3 3 3M3 9v4.5h10V9',
  trash: 'M2.5 4h11m-8 0V2.5h5V4m-6.5 0 .5 9.5h7L12 4',
} as const

export function Icon({ name }: { name: keyof typeof shapes }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={shapes[name]} />
    </svg>
  )
}
