/** The tests of evaluations.test.ts in full: see test/support/length.ts. */
import './evaluations.test.ts'
