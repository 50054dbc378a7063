/** The tests of evaluation-columns.test.ts in full: see test/support/length.ts. */
import './evaluation-columns.test.ts'
