/**
 * The header in which the page sends its half of a session. It also tells requests of the page from those of programs.
 */
export const pageSessionHeader = 'x-heddle-page'
