/** Where the page sends its half of a session. By it, its requests can be told from those of programs. */
export const halfHeader = 'x-heddle-page'
