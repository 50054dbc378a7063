/** The tests of structured-output.test.ts in full: see test/support/campaign-share.ts. */
import './structured-output.test.ts'
