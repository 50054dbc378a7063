/** The tests of evaluations.test.ts in full: see test/support/campaign-share.ts. */
import './evaluations.test.ts'
