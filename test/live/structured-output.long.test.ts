/** The tests of structured-output.test.ts in full: see test/support/length.ts. */
import './structured-output.test.ts'
