/** The tests of crash.test.ts in full: see test/support/length.ts. */
import './crash.test.ts'
