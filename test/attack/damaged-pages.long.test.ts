/** The tests of damaged-pages.test.ts in full: see test/support/length.ts. */
import './damaged-pages.test.ts'
